//! Arrow IPC: the file format (also named Feather) and the stream format. Their first bytes differ.

mod footer_check;
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
use dpsel_exact::{Error, Result};

use super::concatenated_files::JOINED;
use super::hive::FolderColumns;
use super::input::Input;
use super::magic;
use super::open_file::OpenFile;
use super::reason::{Damaged, arrow_failed, guarded, guarded_as, io_failed, unreadable};
use crate::ingest::encode::Chunk;
use crate::ingest::layout::{ColumnLayout, Positions};
use crate::ingest::names::Columns;
use crate::ingest::pool::Task;
use crate::runtime::Control;
use messages::Messages;

const MALFORMED: &str = "not an Arrow IPC file, malformed, or truncated";
const NO_SCHEMA: &str = "its columns cannot be read: it is malformed, or has a type that other libraries do not read, such as \
                         Int128 of polars; cast that column, or leave it out";
const CUT_OFF: &str =
    "truncated: the stream ends without its end mark, which its writer adds when it is closed";
const UNLISTED: &str =
    "malformed: its footer does not list every batch in it; write it again from its source";
const TWO_VERSIONS: &str = "its batches are of an older version of the format (metadata version 4) than its footer; write it \
     again with metadata version 5, which is usual";
const MORE: &str =
    "other bytes follow the stream in it, such as a second stream; keep each stream in a file of its own";
/// Rows of one chunk. IPC batches can be of any size.
const CHUNK: usize = 64 * 1024;

struct IpcFile {
    input: Input,
    source: Arc<str>,
    positions: Positions,
    bytes: u64,
}

/// Batches with only the projected columns.
struct Batches {
    schema: SchemaRef,
    /// Number of batches, if the file states it.
    total: Option<u64>,
    reader: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
    state: Rc<ReadState>,
}

/// How far a stream was read.
#[derive(Debug, Default)]
struct ReadState {
    /// Bytes that were read.
    bytes: Cell<u64>,
    /// Whether the reader asked for more bytes after the end of the file.
    exhausted: Cell<bool>,
}

/// A file that records whether more bytes are requested than it has.
///
/// A complete stream ends with an end mark, and nothing is read after it. The decoder also accepts the end of the file
/// as the end of the stream. A file that is cut off between two batches would then pass as complete.
struct TrackedReader<R> {
    file: R,
    state: Rc<ReadState>,
}

impl<R: Read> Read for TrackedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        let state = &self.state;
        state.bytes.set(state.bytes.get() + bytes as u64);
        state.exhausted.set(state.exhausted.get() || (bytes == 0 && !buffer.is_empty()));
        Ok(bytes)
    }
}

/// Read the schema.
///
/// # Errors
/// [`dpsel_exact::Error::File`] or [`dpsel_exact::Error::Schema`].
pub(super) fn open(input: Input, columns: &Columns, control: &Control) -> Result<OpenFile> {
    let source = input.source();
    let size = input.size()?;
    // The file format is read from its end.
    let input = if is_file(&input, input.peek()?)? { input.held(control)? } else { input };
    let opened = guarded_as(NO_SCHEMA, input.name(), || batches(&input, None))?;
    let (layout, positions) = ColumnLayout::new(&opened.schema, columns, &source)?;
    let bytes = size.or(input.in_memory().map(|bytes| bytes.len() as u64));
    // Otherwise: a pipe, whose bytes are counted while they are read.
    let task = IpcFile { input, source, positions, bytes: bytes.unwrap_or_default() };
    Ok(OpenFile { layout, folders: FolderColumns::default(), bytes, rows: 0, tasks: vec![Box::new(task)] })
}

/// Whether it is the file format and not the stream format.
fn is_file(input: &Input, bytes: impl Read) -> Result<bool> {
    let mut magic = Vec::new();
    bytes.take(magic::LONGEST).read_to_end(&mut magic).map_err(|e| io_failed(input.name(), &e))?;
    if magic.starts_with(b"FEA1") {
        let reason = "Feather version 1 is not read; write it again as version 2 (Arrow IPC)";
        return Err(unreadable(input.name(), reason));
    }
    match magic::by_start(&magic) {
        Some(kind) if !magic.starts_with(b"ARROW1") => Err(unreadable(input.name(), kind.refusal())),
        Some(_) | None => Ok(magic.starts_with(b"ARROW1")),
    }
}

/// The batches of a file, or of a stream in a pipe. A peek at the schema needs no projection.
fn batches(input: &Input, projection: Option<Vec<usize>>) -> Result<Batches> {
    if let Some(file) = input.on_disk()? {
        return seekable(input, file, projection);
    }
    if let Some(bytes) = input.in_memory() {
        return seekable(input, Cursor::new(bytes), projection);
    }
    let bytes = if projection.is_some() { input.read() } else { input.peek() };
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
    if is_file && footer_check::is_joined(&mut file, bytes).map_err(|e| io_failed(path, &e))? {
        return Err(unreadable(path, JOINED));
    }
    if is_file && footer_check::has_two_versions(&mut file, bytes).map_err(|e| io_failed(path, &e))? {
        return Err(unreadable(path, TWO_VERSIONS));
    }
    if is_file && !footer_check::every_batch(&mut file, bytes).map_err(|e| io_failed(path, &e))? {
        return Err(unreadable(path, UNLISTED));
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
        state: Rc::default(),
    })
}

fn stream_batches(
    file: impl BufRead + 'static,
    projection: Option<Vec<usize>>,
) -> Result<Batches, ArrowError> {
    let state = Rc::default();
    let reader = StreamReader::try_new(TrackedReader { file, state: Rc::clone(&state) }, projection)?;
    Ok(Batches { schema: reader.schema(), total: None, reader: Box::new(WholeStream(reader)), state })
}

/// The batches of a stream, behind which nothing may follow: the decoder would leave it out.
struct WholeStream<R: Read>(StreamReader<TrackedReader<R>>);

impl<R: Read> Iterator for WholeStream<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().or_else(|| match self.0.get_mut().file.read(&mut [0]) {
            Ok(0) => None,
            Ok(_) => Some(Err(Damaged::error(MORE).into())),
            Err(error) => Some(Err(error.into())),
        })
    }
}

/// Whether an error has no words of its own.
fn is_bare(error: &io::Error) -> bool {
    error.get_ref().is_none()
}

fn failed(path: &Path, error: &ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, inner) if is_bare(inner) && inner.kind() == messages::REFUSED => {
            unreadable(path, MALFORMED)
        }
        _ => arrow_failed(path, error, MALFORMED),
    }
}

impl Task for IpcFile {
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let Self { input, source, positions, bytes } = *self;
        let (path, columns) = (input.name(), Some(positions.ascending()));
        let mut reader = guarded(path, || batches(&input, columns))?;
        let positions = positions.projected();
        let (mut first_row, mut count, mut worked) = (0, 0, 0);
        while let Some(batch) = guarded(path, || Ok(reader.reader.next()))? {
            let batch = batch.map_err(|e| failed(path, &e))?;
            count += 1;
            let done = reader.total.map(|total| bytes * count / total.max(1));
            let mut work = done.unwrap_or_else(|| reader.state.bytes.get()) - worked;
            worked += work;
            for start in (0..batch.num_rows()).step_by(CHUNK) {
                let rows = CHUNK.min(batch.num_rows() - start);
                let (users, items) = positions.columns(&batch.slice(start, rows));
                emit(Chunk {
                    users,
                    items,
                    source: Arc::clone(&source),
                    first_row: first_row + start as u64,
                    work: std::mem::take(&mut work),
                })?;
            }
            first_row += batch.num_rows() as u64;
        }
        if reader.state.exhausted.get() { Err(unreadable(path, CUT_OFF)) } else { Ok(()) }
    }
}
