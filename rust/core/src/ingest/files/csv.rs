//! CSV with a header line: every column is text, an empty field is null.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::Opened;
use super::reason::{arrow_failed, guarded, io_failed, unreadable};
use super::text::{Text, size};
use crate::ingest::encode::Chunk;
use crate::ingest::plan::{Plan, Positions, roles};
use crate::ingest::pool::Task;
use crate::request::Columns;
use crate::{Error, Result};

/// Rows decoded at a time.
const BATCH: usize = 16 * 1024;

struct CsvFile {
    path: PathBuf,
    source: Arc<str>,
    schema: SchemaRef,
    positions: Positions,
}

/// Read the header line.
///
/// # Errors
/// [`Error::File`] or [`Error::Schema`]. The names in the header are not listed: in a file without a header
/// line they would be data.
pub(super) fn open(path: &Path, columns: &Columns) -> Result<Opened> {
    let source: Arc<str> = path.display().to_string().into();
    let names = header(path)?;
    if let Some((role, name)) = roles(columns).find(|(_, name)| !names.contains(name)) {
        let count = names.len();
        return Err(Error::Schema {
            what: format!(
                "the header line of {source} has {count} columns, none named '{name}' {}",
                role.purpose()
            ),
            fix: format!(
                "set {} to a name in that line, which must hold the column names, separated by commas",
                role.argument()
            ),
        });
    }
    let schema = Schema::new(names.iter().map(|n| Field::new(n, DataType::Utf8, true)).collect::<Vec<_>>());
    let (plan, positions) = Plan::new(&schema, columns, &source)?;
    let bytes = size(path)?;
    let task = CsvFile { path: path.to_owned(), source, schema: Arc::new(schema), positions };
    Ok(Opened { plan, bytes, tasks: vec![Box::new(task)] })
}

fn header(path: &Path) -> Result<Vec<String>> {
    const HEADER: &str = "its header line cannot be read: malformed, cut off, or not UTF-8";
    let mut text = Text::open(path)?;
    // The first bytes are asked for here because arrow-csv forgets the kind of an I/O error.
    text.reader.fill_buf().map_err(|e| io_failed(path, &e))?;
    let (schema, _) = Format::default()
        .with_header(true)
        .infer_schema(text.reader, Some(0))
        .map_err(|e| arrow_failed(path, &e, HEADER))?;
    let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    if names.is_empty() {
        return Err(unreadable(path, "the file is empty; its first line must hold the column names"));
    }
    Ok(names)
}

impl Task for CsvFile {
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let Self { path, source, schema, positions } = *self;
        let mut text = Text::open(&path)?;
        let projection = positions.ascending();
        let mut decoder = ReaderBuilder::new(schema)
            .with_header(true)
            .with_batch_size(BATCH)
            .with_projection(projection)
            .build_decoder();
        let positions = positions.projected();
        let mut first_row = 0;
        loop {
            let next =
                guarded(&path, || fill(&mut text, &mut decoder).map_err(|e| failed(&path, &source, &e)))?;
            let Some(batch) = next else { return Ok(()) };
            let rows = batch.num_rows() as u64;
            emit(Chunk {
                user: Arc::clone(batch.column(positions.user)),
                items: positions.items.iter().map(|&at| Arc::clone(batch.column(at))).collect(),
                source: Arc::clone(&source),
                first_row,
                work: text.work(),
            })?;
            first_row += rows;
        }
    }
}

/// Decode up to one batch.
fn fill(
    text: &mut Text,
    decoder: &mut arrow_csv::reader::Decoder,
) -> Result<Option<arrow_array::RecordBatch>, ArrowError> {
    loop {
        let buffer = text.reader.fill_buf()?;
        let bytes = decoder.decode(buffer)?;
        text.reader.consume(bytes);
        if bytes == 0 || decoder.capacity() == 0 {
            return decoder.flush();
        }
    }
}

/// Of the decoder's words only the line number is kept.
fn failed(path: &Path, source: &str, error: &ArrowError) -> Error {
    let ArrowError::CsvError(words) = error else {
        return arrow_failed(path, error, "malformed CSV");
    };
    let line = words
        .split_once("for line ")
        .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>())
        .filter(|digits| !digits.is_empty());
    let place =
        line.map_or_else(|| "a line".to_owned(), |n| format!("line {n} (quoted line breaks not counted)"));
    if words.contains("UTF-8") {
        return Error::Data {
            source_name: source.to_owned(),
            what: format!("{place} is not valid UTF-8"),
            fix: "convert the file to UTF-8, for example with iconv",
        };
    }
    Error::Data {
        source_name: source.to_owned(),
        what: format!("{place} does not have as many fields as the header line"),
        fix: "mend the line; fields with commas or line breaks need double quotes",
    }
}
