//! NDJSON: one object per line. The first records give the types of the needed fields.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::error::quoted;
use dpsel_exact::{Error, Result};

use super::hive::FolderColumns;
use super::input::{ByteReader, Input};
use super::open_file::OpenFile;
use super::reason::{guarded, io_failed, unreadable};
use super::text::Text;
use super::unicode::mark;
use crate::ingest::encode::Chunk;
use crate::ingest::layout::{ColumnLayout, Positions, Role, roles};
use crate::ingest::names::Columns;
use crate::ingest::pool::Task;

mod column;
mod record;
mod rows;
#[cfg(test)]
mod tests;
mod value;

use column::ColumnBuilder;
use record::Record;
pub(super) use rows::filter;
use value::JsonValue;

/// Records that are read for types. More are read if a field is null in all of them.
const SAMPLE: usize = 100;
/// Rows decoded at a time.
const BATCH: usize = 16 * 1024;

struct NdJsonFile {
    input: Input,
    source: Arc<str>,
    names: Vec<String>,
    types: Vec<DataType>,
    positions: Positions,
}

/// Reads the first records for the types of the needed fields.
///
/// # Errors
/// [`Error::File`], [`Error::Data`] for malformed lines, [`Error::Schema`] for fields that no record has.
pub(super) fn open(input: Input, columns: &Columns) -> Result<OpenFile> {
    let source = input.source();
    let (roles, names): (Vec<Role>, Vec<String>) = roles(columns).map(|(r, n)| (r, n.clone())).unzip();
    let types = infer(&input, &source, &roles, &names)?;
    let fields = names.iter().zip(&types).map(|(n, t)| Field::new(n, t.clone(), true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let (layout, positions) = ColumnLayout::new(&schema, columns, &source)?;
    let (layout, bytes) = (layout.with_undeclared(|_| true), input.size()?);
    let task = NdJsonFile { input, source, names, types, positions };
    Ok(OpenFile { layout, folders: FolderColumns::default(), bytes, rows: 0, tasks: vec![Box::new(task)] })
}

fn infer(input: &Input, source: &Arc<str>, roles: &[Role], names: &[String]) -> Result<Vec<DataType>> {
    let mut lines = Lines::new(input.peek()?, input, source)?;
    let mut types = vec![None; names.len()];
    let mut count = 0;
    while count < SAMPLE || types.iter().any(|t| t.as_ref().is_none_or(value::undecided)) {
        if !lines.advance()? {
            break;
        }
        let record = lines.record(names)?;
        for ((seen, value), name) in types.iter_mut().zip(&record.values).zip(names) {
            if let Some(value) = value {
                // Otherwise: this is the first value of the field.
                let both = value::unify(seen.take().unwrap_or(DataType::Null), value.data_type());
                *seen = Some(both.ok_or_else(|| lines.mismatch(name))?);
            }
        }
        count += 1;
    }
    if count == 0 {
        return Err(unreadable(input.name(), "the file is empty; it must hold one JSON object per line"));
    }
    let found = types.into_iter().zip(roles).zip(names).map(|((seen, role), name)| {
        seen.ok_or_else(|| Error::Schema {
            what: format!("no record of {source} has a field {} {}", quoted(name), role.purpose()),
            // Not the fields that are there: records may be keyed by users or items.
            fix: format!("set {} to one of its fields", role.argument()),
        })
    });
    found.collect()
}

impl Task for NdJsonFile {
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let Self { input, source, names, types, positions } = *self;
        let mut lines = Lines::new(input.read()?, &input, &source)?;
        let mut first_row = 0;
        loop {
            let mut columns = empty(&types)?;
            let rows = guarded(input.name(), || fill(&mut lines, &names, &mut columns))?;
            if rows == 0 {
                return Ok(());
            }
            let mut arrays: Vec<_> = columns.into_iter().map(ColumnBuilder::finish).collect::<Result<_>>()?;
            // The users are the last of the names.
            let users = arrays.split_off(positions.items.len());
            emit(Chunk {
                users,
                items: arrays,
                source: Arc::clone(&source),
                first_row,
                work: lines.text.work(),
            })?;
            first_row += rows as u64;
        }
    }
}

/// Columns without values.
fn empty(types: &[DataType]) -> Result<Vec<ColumnBuilder>> {
    let columns: Option<_> = types.iter().map(ColumnBuilder::new).collect();
    columns.ok_or(Error::Internal("an NDJSON field has a type that cannot be built"))
}

/// Append up to one batch of records to the columns; the number of records.
fn fill(lines: &mut Lines, names: &[String], columns: &mut [ColumnBuilder]) -> Result<usize> {
    for row in 0..BATCH {
        if !lines.advance()? {
            return Ok(row);
        }
        append(lines, names, columns)?;
    }
    Ok(BATCH)
}

/// Append the current record to the columns.
fn append(lines: &Lines, names: &[String], columns: &mut [ColumnBuilder]) -> Result<()> {
    let record = lines.record(names)?;
    for ((column, value), name) in columns.iter_mut().zip(record.values).zip(names) {
        // Otherwise: a missing field is null.
        if !column.push(value.unwrap_or(JsonValue::Null)) {
            return Err(lines.mismatch(name));
        }
    }
    Ok(())
}

/// The lines of a file, without blank ones.
struct Lines {
    path: PathBuf,
    source: Arc<str>,
    text: Text,
    line: Vec<u8>,
    number: u64,
    /// Bytes of the byte order mark before the first line.
    mark: usize,
}

impl Lines {
    fn new(bytes: ByteReader, input: &Input, source: &Arc<str>) -> Result<Self> {
        let (path, text) = (input.name().to_owned(), Text::new(bytes, input.name())?);
        Ok(Self { path, source: Arc::clone(source), text, line: Vec::new(), number: 0, mark: 0 })
    }

    /// Go to the next line that is not blank; false at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        loop {
            self.line.clear();
            let read = self.text.reader.read_until(b'\n', &mut self.line);
            if read.map_err(|e| io_failed(&self.path, &e))? == 0 {
                return Ok(false);
            }
            self.number += 1;
            if self.number == 1 {
                self.mark = mark(&self.line, &self.source)?;
            }
            if !self.content().is_empty() {
                return Ok(true);
            }
        }
    }

    /// The same from the first byte on that is no white space of JSON; empty if all is.
    fn content(&self) -> &[u8] {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let line = self.unmarked();
        &line[line.iter().take_while(|byte| is_blank(byte)).count()..]
    }

    /// The line without the byte order mark of the first line.
    fn unmarked(&self) -> &[u8] {
        &self.line[if self.number == 1 { self.mark } else { 0 }..]
    }

    /// The record of the current line.
    fn record(&self, names: &[String]) -> Result<Record<'_>> {
        let record = record::parse(self.content(), names).map_err(|()| self.malformed())?;
        if record.is_ambiguous { Err(self.ambiguous()) } else { Ok(record) }
    }

    fn malformed(&self) -> Error {
        let utf8 = std::str::from_utf8(&self.line).is_ok();
        Error::Data {
            source_name: self.source.to_string(),
            what: format!(
                "line {} is not {}",
                self.number,
                if utf8 { "a JSON object" } else { "valid UTF-8" }
            ),
            fix: "each line must hold one whole JSON object in UTF-8",
        }
    }

    fn ambiguous(&self) -> Error {
        Error::Data {
            source_name: self.source.to_string(),
            what: format!(
                "line {} has a needed field twice, and readers take different ones of the two",
                self.number
            ),
            fix: "write each field of an object once",
        }
    }

    fn mismatch(&self, name: &str) -> Error {
        Error::Data {
            source_name: self.source.to_string(),
            what: format!(
                "field '{name}' in line {} has another type than in the lines before it",
                self.number
            ),
            fix: "write the field with one type throughout: whole numbers, strings, booleans, or lists of one of them",
        }
    }
}
