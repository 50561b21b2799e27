//! Text with a delimiter, such as CSV and TSV: every column is text, an empty field is null.
//!
//! The decoder of `arrow-csv` silently closes a quote that is still open at the end of the file. All rows after the
//! quote then become one field. [`Rows`] detects this by feeding the decoder one more line break at the end.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::{Decoder, Format};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::hive::FolderColumns;
use super::input::Input;
use super::open_file::OpenFile;
use super::reason::{arrow_failed, guarded, io_failed, unreadable};
use super::text::Text;
use crate::error::quoted;
use crate::ingest::encode::Chunk;
use crate::ingest::layout::{ColumnLayout, Positions, Role, roles};
use crate::ingest::names::Columns;
use crate::ingest::pool::Task;
use crate::ingest::source::Dialect;
use crate::{Error, Result};

/// Rows decoded at a time.
const BATCH: usize = 16 * 1024;
/// The most bytes of one line. An open quote swallows the following rows, which must not fill the memory.
const LONGEST: usize = 256 * 1024 * 1024;

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
    let names = header(&input, dialect)?;
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

fn header(input: &Input, dialect: Dialect) -> Result<Vec<String>> {
    const HEADER: &str = "its header line cannot be read: malformed, cut off, or not UTF-8";
    let path = input.name();
    let mut text = Text::new(input.peek()?, path)?;
    // The first bytes are read here, because arrow-csv drops the kind of an I/O error.
    text.reader.fill_buf().map_err(|e| io_failed(path, &e))?;
    let (schema, _) = Format::default()
        .with_header(dialect.header)
        .with_delimiter(dialect.delimiter())
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
        let Self { input, source, schema, positions, dialect } = *self;
        let path = input.name();
        let mut rows = Rows::open(&input, dialect, schema, positions.ascending())?;
        let positions = positions.projected();
        let mut first_row = 0;
        while let Some(batch) = guarded(path, || rows.next().map_err(|e| e.to_error(path, &source)))? {
            let count = batch.num_rows() as u64;
            let (users, items) = positions.columns(&batch);
            emit(Chunk { users, items, source: Arc::clone(&source), first_row, work: rows.text.work() })?;
            first_row += count;
        }
        Ok(())
    }
}

/// The rows of a file, batch by batch.
struct Rows {
    text: Text,
    decoder: Decoder,
    /// Whether the first record has the names of the columns.
    header: bool,
    /// Records decoded, the header line included.
    records: u64,
    /// Bytes of the current record, counted from the first buffer that did not end it.
    pending: usize,
    ended: bool,
}

/// Why there is no next batch.
enum Failure {
    Decoder(ArrowError),
    /// A quote opened in this line is not closed.
    OpenQuote(u64),
    /// This line is longer than [`LONGEST`].
    Endless(u64),
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        Self::Decoder(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Decoder(error.into())
    }
}

impl Rows {
    fn open(input: &Input, dialect: Dialect, schema: SchemaRef, projection: Vec<usize>) -> Result<Self> {
        // The header line is decoded as a row, so that an open quote in it is detected as well.
        let decoder = ReaderBuilder::new(schema)
            .with_header(false)
            .with_delimiter(dialect.delimiter())
            .with_batch_size(BATCH)
            .with_projection(projection)
            .build_decoder();
        let text = Text::new(input.read()?, input.name())?;
        Ok(Self { text, decoder, header: dialect.header, records: 0, pending: 0, ended: false })
    }

    /// The next batch, without the header line.
    fn next(&mut self) -> Result<Option<RecordBatch>, Failure> {
        if self.ended {
            return Ok(None);
        }
        while self.decoder.capacity() > 0 && !self.ended {
            self.decode()?;
        }
        let header = usize::from(self.header && self.records == 0);
        let batch = self.decoder.flush()?;
        self.records += batch.as_ref().map_or(0, |b| b.num_rows() as u64);
        Ok(batch.map(|b| b.slice(header, b.num_rows() - header)))
    }

    /// Decode the bytes in the buffer, as far as they fit into the batch.
    fn decode(&mut self) -> Result<(), Failure> {
        let before = self.decoder.capacity();
        let buffer = self.text.reader.fill_buf()?;
        if buffer.is_empty() {
            self.ended = true;
            return self.end();
        }
        let bytes = self.decoder.decode(buffer)?;
        self.text.reader.consume(bytes);
        self.pending = if self.decoder.capacity() == before { self.pending + bytes } else { 0 };
        if self.pending > LONGEST { Err(Failure::Endless(self.line())) } else { Ok(()) }
    }

    /// End the last line. If a line break did not end the record but the end of the file does, it has an open quote.
    fn end(&mut self) -> Result<(), Failure> {
        let line = self.line();
        self.decoder.decode(b"\n")?;
        let before = self.decoder.capacity();
        if before == 0 {
            return Ok(());
        }
        match self.decoder.decode(&[]) {
            Ok(_) if self.decoder.capacity() == before => Ok(()),
            _ => Err(Failure::OpenQuote(line)),
        }
    }

    /// The number of the current record, from 1.
    fn line(&self) -> u64 {
        self.records + (BATCH - self.decoder.capacity()) as u64 + 1
    }
}

impl Failure {
    /// The error with its line, without the decoder's message.
    fn to_error(&self, path: &Path, source: &str) -> Error {
        const FIX: &str = "close it, or write the field in quotes with every quote inside doubled";
        let data = |what| Error::Data { source_name: source.to_owned(), what, fix: FIX };
        match self {
            Self::OpenQuote(line) => data(format!("a quote opened in {} is not closed", place(*line))),
            Self::Endless(line) => {
                data(format!("{} is endless, most likely because a quote in it is not closed", place(*line)))
            }
            Self::Decoder(ArrowError::CsvError(message)) => malformed(message, source),
            Self::Decoder(error) => arrow_failed(path, error, "malformed CSV"),
        }
    }
}

fn place(line: impl std::fmt::Display) -> String {
    format!("line {line} (quoted line breaks not counted)")
}

/// The error for a malformed line. Only the line number of the decoder's message is kept.
fn malformed(message: &str, source: &str) -> Error {
    let line = message
        .split_once("for line ")
        .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>())
        .filter(|digits| !digits.is_empty());
    let place = line.map_or_else(|| "a line".to_owned(), place);
    if message.contains("UTF-8") {
        return Error::Data {
            source_name: source.to_owned(),
            what: format!("{place} is not valid UTF-8"),
            fix: "convert the file to UTF-8, for example with iconv",
        };
    }
    Error::Data {
        source_name: source.to_owned(),
        what: format!("{place} does not have as many fields as the first line"),
        fix: "mend the line; fields with delimiters or line breaks need double quotes",
    }
}
