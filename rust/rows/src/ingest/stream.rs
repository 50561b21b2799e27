//! Reads streams of record batches in memory.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use dpsel_exact::{Error, Result};

use super::encode::{Chunk, Encoder, Sink};
use super::layout::Positions;
use super::names::INPUT_NAME;
use super::pool::{self, Task};
use super::utf8::TextCheck;
use crate::runtime::Control;

/// Streams of fewer rows are read by the calling thread alone.
const SINGLE_THREADED: usize = 64 * 1024;
/// Rows handed to a thread at once.
const CHUNK: usize = 64 * 1024;

/// Read a stream to its end. Only the calling thread takes batches from it.
///
/// # Errors
/// [`Error::Source`] with the position if it fails.
pub(super) fn read<S: Sink>(
    reader: Box<dyn RecordBatchReader + Send>,
    positions: Positions,
    control: &Control,
    encoder: &(dyn Fn() -> Encoder<S> + Sync),
) -> Result<()> {
    let texts = TextCheck::new(&reader.schema(), &positions);
    let mut stream = Stream { reader, positions, texts, source: INPUT_NAME.into(), row: 0, pulled: 0 };
    if control.threads() == 1 {
        let mut encoder = encoder();
        return Box::new(stream).run(&mut |chunk| pool::encode(&chunk, control, &mut encoder));
    }
    let mut first = Vec::new();
    let mut rows = 0;
    while rows < SINGLE_THREADED {
        let Some(batch) = stream.pull()? else {
            let mut encoder = encoder();
            let mut emit = |chunk: Chunk| pool::encode(&chunk, control, &mut encoder);
            return first.iter().try_for_each(|batch| stream.split(batch, &mut emit));
        };
        rows += batch.num_rows();
        first.push(batch);
    }
    let task = Resumed { first, stream };
    pool::run(Some(Box::new(task)), Vec::new(), control.threads(), control, encoder)
}

struct Stream {
    reader: Box<dyn RecordBatchReader + Send>,
    positions: Positions,
    texts: TextCheck,
    source: Arc<str>,
    /// Rows passed on so far.
    row: u64,
    /// Rows read so far.
    pulled: u64,
}

/// A stream whose first batches are already read.
struct Resumed {
    first: Vec<RecordBatch>,
    stream: Stream,
}

impl Stream {
    fn pull(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.reader.next().transpose().map_err(|_| self.failed())?;
        self.pulled += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        Ok(batch)
    }

    /// The error of a stream that failed.
    fn failed(&self) -> Error {
        Error::foreign(&format!("it broke off with an error after {} rows", self.pulled))
    }

    /// Emit a batch in pieces; positions count rows of the whole stream.
    fn split(&mut self, batch: &RecordBatch, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        for start in (0..batch.num_rows()).step_by(CHUNK) {
            let rows = CHUNK.min(batch.num_rows() - start);
            let batch = batch.slice(start, rows);
            let first_row = self.row;
            self.row += rows as u64;
            // Checked shortly before the bytes are digested, so that they are loaded into the cache only once.
            self.texts.check(&batch, &self.source, first_row)?;
            let (users, items) = self.positions.columns(&batch);
            emit(Chunk { users, items, source: Arc::clone(&self.source), first_row, work: rows as u64 })?;
        }
        Ok(())
    }
}

impl Task for Stream {
    fn run(mut self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        while let Some(batch) = self.pull()? {
            self.split(&batch, emit)?;
        }
        Ok(())
    }
}

impl Task for Resumed {
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let Self { first, mut stream } = *self;
        first.into_iter().try_for_each(|batch| stream.split(&batch, emit))?;
        Box::new(stream).run(emit)
    }
}
