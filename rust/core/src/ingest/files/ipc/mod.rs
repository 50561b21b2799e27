//! Arrow IPC: the file format (also named Feather) and the stream format, told apart by their first bytes.

mod lengths;
mod messages;

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReaderBuilder, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::input::{Held, Input};
use super::open_file::OpenFile;
use super::reason::{arrow_failed, guarded, io_failed, unreadable};
use crate::ingest::encode::Chunk;
use crate::ingest::layout::{ColumnLayout, Positions};
use crate::ingest::names::Columns;
use crate::ingest::pool::Task;
use crate::runtime::Control;
use crate::{Error, Result};
use messages::Messages;

const MALFORMED: &str = "not an Arrow IPC file, malformed, or truncated";
const CUT_OFF: &str =
    "truncated: the stream ends without its end mark, which its writer adds when it is closed";
/// Rows handed on at once; IPC batches can be of any size.
const CHUNK: usize = 64 * 1024;

struct IpcFile {
    input: Input,
    /// All bytes, where the file format comes through a pipe: it is read from its end.
    held: Option<Held>,
    source: Arc<str>,
    positions: Positions,
    bytes: u64,
}

/// Batches with only the projected columns.
struct Batches {
    schema: SchemaRef,
    /// Number of batches, if the file says.
    total: Option<u64>,
    reader: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
    noted: Rc<Noted>,
}

/// What is known of the reading of a stream.
#[derive(Debug, Default)]
struct Noted {
    /// Bytes that the reader took.
    bytes: Cell<u64>,
    /// Whether the reader wanted bytes where the file had ended.
    exhausted: Cell<bool>,
}

/// A file that notes when more is read than there is.
///
/// A stream ends with a mark, after which nothing is read. Its reader takes the end of the file for the mark, because
/// on a closed pipe there may be none; in a file that would make one cut off between two batches a whole one.
struct Noting<R> {
    file: R,
    noted: Rc<Noted>,
}

impl<R: Read> Read for Noting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        let noted = &self.noted;
        noted.bytes.set(noted.bytes.get() + bytes as u64);
        noted.exhausted.set(noted.exhausted.get() || (bytes == 0 && !buffer.is_empty()));
        Ok(bytes)
    }
}

/// Read the schema.
///
/// # Errors
/// [`crate::Error::File`] or [`crate::Error::Schema`].
pub(super) fn open(input: Input, columns: &Columns, control: &Control) -> Result<OpenFile> {
    let source = input.source();
    let size = input.size()?;
    let held =
        if size.is_none() && is_file(&input, input.look()?)? { Some(input.hold(control)?) } else { None };
    let opened = match &held {
        Some(held) => seekable(&input, Cursor::new(held.bytes()), None),
        None => batches(&input, None),
    };
    let (layout, positions) = ColumnLayout::new(&opened?.schema, columns, &source)?;
    let bytes = size.or(held.as_ref().map(|held| held.bytes().len() as u64));
    // Otherwise: a pipe, whose bytes are counted as they come and not at the end.
    let task = IpcFile { input, held, source, positions, bytes: bytes.unwrap_or_default() };
    Ok(OpenFile { layout, bytes, tasks: vec![Box::new(task)] })
}

/// Whether it is the file format and not the stream format.
fn is_file(input: &Input, bytes: impl Read) -> Result<bool> {
    let mut magic = Vec::new();
    bytes.take(6).read_to_end(&mut magic).map_err(|e| io_failed(input.name(), &e))?;
    if magic.starts_with(b"FEA1") {
        let reason = "Feather version 1 is not read; write it again as version 2 (Arrow IPC)";
        return Err(unreadable(input.name(), reason));
    }
    Ok(magic == b"ARROW1")
}

/// The batches of a file on its disk, or of a stream in a pipe: without a projection for a look at the schema.
fn batches(input: &Input, projection: Option<Vec<usize>>) -> Result<Batches> {
    if let Some(file) = input.on_disk()? {
        return seekable(input, file, projection);
    }
    let bytes = if projection.is_some() { input.read() } else { input.look() };
    stream_batches(BufReader::new(Messages::new(bytes?)), projection).map_err(|e| failed(input.name(), &e))
}

fn seekable(
    input: &Input,
    mut file: impl Read + Seek + 'static,
    projection: Option<Vec<usize>>,
) -> Result<Batches> {
    let path = input.name();
    let seek = |file: &mut dyn Seek, to| file.seek(to).map_err(|e| io_failed(path, &e));
    let is_file = is_file(input, file.by_ref())?;
    let bytes = seek(&mut file, SeekFrom::End(0))?;
    let checked =
        if is_file { lengths::of_file(&mut file, bytes) } else { lengths::of_stream(&mut file, bytes) };
    if !checked.map_err(|e| io_failed(path, &e))? {
        return Err(unreadable(path, MALFORMED));
    }
    seek(&mut file, SeekFrom::Start(0))?;
    let file = BufReader::new(file);
    let opened = if is_file { file_batches(file, projection) } else { stream_batches(file, projection) };
    opened.map_err(|e| failed(path, &e))
}

fn file_batches(
    file: impl BufRead + Seek + 'static,
    projection: Option<Vec<usize>>,
) -> Result<Batches, ArrowError> {
    let mut builder = FileReaderBuilder::new();
    if let Some(projection) = projection {
        builder = builder.with_projection(projection);
    }
    let reader = builder.build(file)?;
    Ok(Batches {
        schema: reader.schema(),
        total: Some(reader.num_batches() as u64),
        reader: Box::new(reader),
        noted: Rc::default(),
    })
}

fn stream_batches(
    file: impl BufRead + 'static,
    projection: Option<Vec<usize>>,
) -> Result<Batches, ArrowError> {
    let noted = Rc::default();
    let reader = StreamReader::try_new(Noting { file, noted: Rc::clone(&noted) }, projection)?;
    Ok(Batches { schema: reader.schema(), total: None, reader: Box::new(reader), noted })
}

fn failed(path: &Path, error: &ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, inner) if inner.kind() == messages::REFUSED => unreadable(path, MALFORMED),
        _ => arrow_failed(path, error, MALFORMED),
    }
}

impl Task for IpcFile {
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let Self { input, held, source, positions, bytes } = *self;
        let (path, columns) = (input.name(), Some(positions.ascending()));
        let mut reader = guarded(path, || match &held {
            Some(held) => seekable(&input, Cursor::new(held.bytes()), columns),
            None => batches(&input, columns),
        })?;
        let positions = positions.projected();
        let (mut first_row, mut count, mut worked) = (0, 0, 0);
        while let Some(batch) = guarded(path, || Ok(reader.reader.next()))? {
            let batch = batch.map_err(|e| failed(path, &e))?;
            count += 1;
            let done = reader.total.map(|total| bytes * count / total.max(1));
            let mut work = done.unwrap_or_else(|| reader.noted.bytes.get()) - worked;
            worked += work;
            for start in (0..batch.num_rows()).step_by(CHUNK) {
                let rows = CHUNK.min(batch.num_rows() - start);
                emit(Chunk {
                    user: batch.column(positions.user).slice(start, rows),
                    items: positions.items.iter().map(|&at| batch.column(at).slice(start, rows)).collect(),
                    source: Arc::clone(&source),
                    first_row: first_row + start as u64,
                    work: std::mem::take(&mut work),
                })?;
            }
            first_row += batch.num_rows() as u64;
        }
        if reader.noted.exhausted.get() { Err(unreadable(path, CUT_OFF)) } else { Ok(()) }
    }
}
