//! Arrow IPC: the file format (also named Feather) and the stream format, told apart by their first bytes.

mod lengths;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReaderBuilder, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::Opened;
use super::reason::{arrow_failed, guarded, io_failed, unreadable};
use super::text::size;
use crate::Result;
use crate::ingest::encode::Chunk;
use crate::ingest::plan::{Plan, Positions};
use crate::ingest::pool::Task;
use crate::request::Columns;

const MALFORMED: &str = "not an Arrow IPC file, malformed, or truncated";
const CUT_OFF: &str =
    "truncated: the stream ends without its end mark, which its writer adds when it is closed";
/// Rows handed on at once; IPC batches can be of any size.
const CHUNK: usize = 64 * 1024;

struct IpcFile {
    path: PathBuf,
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
    /// Whether the reader wanted bytes where the file had ended.
    exhausted: Rc<Cell<bool>>,
}

/// A file that notes when more is read than there is.
///
/// A stream ends with a mark, after which nothing is read. Its reader takes the end of the file for the mark, because
/// on a closed pipe there may be none; in a file that would make one cut off between two batches a whole one.
struct Noting {
    file: BufReader<File>,
    exhausted: Rc<Cell<bool>>,
}

impl Read for Noting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.exhausted.set(self.exhausted.get() || (bytes == 0 && !buffer.is_empty()));
        Ok(bytes)
    }
}

/// Read the schema.
///
/// # Errors
/// [`crate::Error::File`] or [`crate::Error::Schema`].
pub(super) fn open(path: &Path, columns: &Columns) -> Result<Opened> {
    let source: Arc<str> = path.display().to_string().into();
    let schema = batches(path, None)?.schema;
    let (plan, positions) = Plan::new(&schema, columns, &source)?;
    let bytes = size(path)?;
    let task = IpcFile { path: path.to_owned(), source, positions, bytes };
    Ok(Opened { plan, bytes, tasks: vec![Box::new(task)] })
}

fn batches(path: &Path, projection: Option<Vec<usize>>) -> Result<Batches> {
    let mut file = File::open(path).map_err(|e| io_failed(path, &e))?;
    let mut magic = Vec::new();
    file.by_ref().take(6).read_to_end(&mut magic).map_err(|e| io_failed(path, &e))?;
    file.seek(SeekFrom::Start(0)).map_err(|e| io_failed(path, &e))?;
    if magic.starts_with(b"FEA1") {
        return Err(unreadable(
            path,
            "Feather version 1 is not read; write it again as version 2 (Arrow IPC)",
        ));
    }
    let bytes = size(path)?;
    let is_file = magic == b"ARROW1";
    let checked =
        if is_file { lengths::of_file(&mut file, bytes) } else { lengths::of_stream(&mut file, bytes) };
    if !checked.map_err(|e| io_failed(path, &e))? {
        return Err(unreadable(path, MALFORMED));
    }
    file.seek(SeekFrom::Start(0)).map_err(|e| io_failed(path, &e))?;
    let file = BufReader::new(file);
    let opened = if is_file { file_batches(file, projection) } else { stream_batches(file, projection) };
    opened.map_err(|e| arrow_failed(path, &e, MALFORMED))
}

fn file_batches(file: BufReader<File>, projection: Option<Vec<usize>>) -> Result<Batches, ArrowError> {
    let mut builder = FileReaderBuilder::new();
    if let Some(projection) = projection {
        builder = builder.with_projection(projection);
    }
    let reader = builder.build(file)?;
    Ok(Batches {
        schema: reader.schema(),
        total: Some(reader.num_batches() as u64),
        reader: Box::new(reader),
        exhausted: Rc::default(),
    })
}

fn stream_batches(file: BufReader<File>, projection: Option<Vec<usize>>) -> Result<Batches, ArrowError> {
    let exhausted = Rc::default();
    let reader = StreamReader::try_new(Noting { file, exhausted: Rc::clone(&exhausted) }, projection)?;
    Ok(Batches { schema: reader.schema(), total: None, reader: Box::new(reader), exhausted })
}

impl Task for IpcFile {
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let Self { path, source, positions, bytes } = *self;
        let mut reader = guarded(&path, || batches(&path, Some(positions.ascending())))?;
        let positions = positions.projected();
        let (mut first_row, mut count, mut worked) = (0, 0, 0);
        while let Some(batch) = guarded(&path, || Ok(reader.reader.next()))? {
            let batch = batch.map_err(|e| arrow_failed(&path, &e, MALFORMED))?;
            count += 1;
            let mut work = reader.total.map_or(0, |total| bytes * count / total.max(1) - worked);
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
        if reader.exhausted.get() { Err(unreadable(&path, CUT_OFF)) } else { Ok(()) }
    }
}
