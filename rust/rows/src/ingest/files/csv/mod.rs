//! Text with a delimiter, such as CSV and TSV: every column is text, an empty field is null, in quotes or not.
//!
//! `grammar.rs` tells the fields of a record apart, `records.rs` reads one record after the other.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use dpsel_exact::error::quoted;
use dpsel_exact::{Error, Result};

use super::hive::FolderColumns;
use super::input::Input;
use super::open_file::OpenFile;
use super::reason::{guarded, unreadable};
use crate::ingest::encode::Chunk;
use crate::ingest::layout::{ColumnLayout, Positions, Role, roles};
use crate::ingest::names::Columns;
use crate::ingest::pool::Task;
use crate::ingest::source::Dialect;

mod grammar;
mod records;
mod rows;

use grammar::Grammar;
use records::{CsvRecord, CsvRecords};
pub(super) use rows::filter;

/// Rows decoded at a time, and about how many bytes.
const BATCH: usize = 16 * 1024;
const BATCH_BYTES: usize = 32 * 1024 * 1024;

struct CsvFile {
    input: Input,
    source: Arc<str>,
    schema: SchemaRef,
    positions: Positions,
    dialect: Dialect,
}

/// Read the names of the columns.
///
/// # Errors
/// [`Error::File`] or [`Error::Schema`]. The names in the header are not listed: in a file without a header
/// line they would be data.
pub(super) fn open(input: Input, columns: &Columns, dialect: Dialect) -> Result<OpenFile> {
    let source = input.source();
    let names = header(&input, &source, dialect)?;
    if let Some((role, name)) = roles(columns).find(|(_, name)| !names.contains(name)) {
        return Err(unknown(&source, names.len(), dialect, role, name));
    }
    let schema = Schema::new(names.iter().map(|n| Field::new(n, DataType::Utf8, true)).collect::<Vec<_>>());
    let (layout, positions) = ColumnLayout::new(&schema, columns, &source)?;
    let bytes = input.size()?;
    let task = CsvFile { input, source, schema: Arc::new(schema), positions, dialect };
    Ok(OpenFile { layout, folders: FolderColumns::default(), bytes, rows: 0, tasks: vec![Box::new(task)] })
}

/// The error for a column that is not there.
fn unknown(source: &str, count: usize, dialect: Dialect, role: Role, name: &str) -> Error {
    let (purpose, argument) = (role.purpose(), role.argument());
    let columns = if count == 1 { "1 column".to_owned() } else { format!("{count} columns") };
    if !dialect.header {
        return Error::Schema {
            what: format!(
                "{source} has {columns} and no header line, and none is {} {purpose}",
                quoted(name)
            ),
            fix: format!("set {argument} to one of column_1 to column_{count}"),
        };
    }
    let separated = match dialect.delimiter() {
        b',' => "commas".to_owned(),
        b'\t' => "tabs".to_owned(),
        other => format!("'{}'", char::from(other)),
    };
    Error::Schema {
        what: format!("the header line of {source} has {columns}, none named {} {purpose}", quoted(name)),
        fix: format!(
            "set {argument} to a name in that line, which must hold the column names, separated by {separated}; \
             for another delimiter set file_format=dpsel.Csv(delimiter=), and for no such line \
             file_format=dpsel.Csv(header=False)"
        ),
    }
}

/// A text as a field between commas, in quotes if any reader could take it for another text without them.
pub fn csv_field(text: &str) -> Result<Cow<'_, str>> {
    Grammar::new(Dialect::COMMAS).written(text).ok_or(Error::Internal("a dialect has lost its quotes"))
}

/// The names of the columns.
fn header(input: &Input, source: &Arc<str>, dialect: Dialect) -> Result<Vec<String>> {
    let mut records = CsvRecords::new(input.peek()?, input, source, dialect)?;
    if !records.advance()? {
        return Err(unreadable(input.name(), "the file is empty; its first line must hold the column names"));
    }
    names(&records.record()?, source, dialect)
}

/// The names of the columns, from the first record.
fn names(first: &CsvRecord<'_>, source: &str, dialect: Dialect) -> Result<Vec<String>> {
    if is_instruction(first.text) {
        return Err(Error::Data {
            source_name: source.to_owned(),
            what: "the first line is an instruction for Excel, such as `sep=;`".into(),
            fix: "delete that line, and name the character with file_format=dpsel.Csv(delimiter=)",
        });
    }
    let count = first.fields.len();
    if !dialect.header {
        return Ok((1..=count).map(|number| format!("column_{number}")).collect());
    }
    (0..count).map(|at| first.value(at).map(Cow::into_owned)).collect()
}

/// Whether a line tells Excel the delimiter.
fn is_instruction(line: &str) -> bool {
    let line = line.trim_end_matches(['\r', '\n']);
    // Otherwise: it is not in quotes.
    let bare = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).unwrap_or(line);
    bare.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("sep=")) && bare.chars().count() == 5
}

impl Task for CsvFile {
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let Self { input, source, schema, positions, dialect } = *self;
        let (wanted, positions) = (positions.ascending(), positions.projected());
        let schema: SchemaRef = Arc::new(
            schema.project(&wanted).map_err(|_| Error::Internal("a column of a text file is lost"))?,
        );
        let mut records = CsvRecords::new(input.read()?, &input, &source, dialect)?;
        if dialect.header {
            records.advance()?;
        }
        let mut first_row = 0;
        loop {
            let batch = guarded(input.name(), || batch(&mut records, &schema, &wanted))?;
            let count = batch.num_rows() as u64;
            if count == 0 {
                return Ok(());
            }
            let (users, items) = positions.columns(&batch);
            emit(Chunk { users, items, source: Arc::clone(&source), first_row, work: records.work() })?;
            first_row += count;
        }
    }
}

/// The next rows; none at the end of the file.
fn batch(records: &mut CsvRecords, schema: &SchemaRef, wanted: &[usize]) -> Result<RecordBatch> {
    let mut columns = Cells::new(wanted);
    let (mut rows, mut bytes) = (0, 0);
    while rows < BATCH && bytes < BATCH_BYTES && records.advance()? {
        let record = records.record()?;
        columns.push(&record)?;
        (rows, bytes) = (rows + 1, bytes + record.text.len());
    }
    columns.finish(schema)
}

/// Columns under construction.
struct Cells<'a> {
    wanted: &'a [usize],
    columns: Vec<StringBuilder>,
}

impl<'a> Cells<'a> {
    fn new(wanted: &'a [usize]) -> Self {
        Self { wanted, columns: wanted.iter().map(|_| StringBuilder::new()).collect() }
    }

    fn push(&mut self, record: &CsvRecord<'_>) -> Result<()> {
        for (column, &at) in self.columns.iter_mut().zip(self.wanted) {
            let text = record.value(at)?;
            column.append_option((!text.is_empty()).then_some(text));
        }
        Ok(())
    }

    fn finish(self, schema: &SchemaRef) -> Result<RecordBatch> {
        let columns =
            self.columns.into_iter().map(|mut column| Arc::new(column.finish()) as ArrayRef).collect();
        RecordBatch::try_new(Arc::clone(schema), columns)
            .map_err(|_| Error::Internal("the columns of a text file cannot be built"))
    }
}
