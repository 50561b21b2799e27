//! Rows of the table: batches are put together, to be read as the local engine reads them.

use std::num::NonZeroUsize;

use arrow_array::RecordBatch;
use dpsel_rows::runtime::Control;

/// Rows read together. More rows share a dictionary then, but this number of them already takes about 200 MB.
const ROWS: usize = 1 << 23;
/// The batches are read before they exceed this number of bytes.
const BYTES: usize = 1 << 28;

/// Batches that wait until there are enough of them.
#[derive(Debug, Default)]
pub(super) struct Batcher {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl Batcher {
    /// Take a batch, and return all batches if there are enough now.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Option<Vec<RecordBatch>> {
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.batches.push(batch);
        (self.rows >= ROWS || self.bytes >= BYTES).then(|| self.take())
    }

    pub(super) fn take(&mut self) -> Vec<RecordBatch> {
        std::mem::take(self).batches
    }
}

/// A task has one thread, since the engine runs tasks side by side.
pub(crate) fn one_thread() -> Control {
    Control::new(Some(NonZeroUsize::MIN), None)
}
