//! Runs a stage of the exchange on what is in scratch: each thread takes ranges of partitions, in ascending order.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;

use super::memory::Memory;
use crate::exchange::{Packed, PartitionedValues, Stage, partitioned_values};
use crate::runtime::{Control, parallel};
use crate::scratch::{Spool, Stored, Writer};
use crate::{Error, Result};

/// Ranges for each thread. With several, a thread that is done early takes more.
const RANGES: u64 = 8;

/// What is done with the batches that a stage makes.
pub(super) trait Output {
    /// Take a batch.
    fn take(&mut self, batch: &RecordBatch) -> Result<()>;
    /// End after the last batch.
    fn end(self) -> Result<()>;
}

/// Puts batches into scratch, by partition.
impl Output for Writer<'_, i32> {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        partitioned_values(batch)?.try_for_each(|(partition, packed)| self.push(partition, packed))
    }

    fn end(mut self) -> Result<()> {
        self.flush()
    }
}

/// Puts packed values together in memory.
#[derive(Debug, Default)]
pub(super) struct Collected(Mutex<Vec<Packed>>);

impl Collected {
    /// All packed values.
    pub(super) fn packed(self) -> Packed {
        let pieces = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        pieces.iter().map(Packed::bytes).collect::<Vec<_>>().concat().into()
    }
}

impl Output for &Collected {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let more = Packed::gathered(std::slice::from_ref(batch))?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(more);
        Ok(())
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}

/// Runs stages within a share of the memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stages<'a> {
    pub(super) memory: Memory,
    pub(super) control: &'a Control,
}

impl Stages<'_> {
    /// A writer to scratch for one thread.
    pub(super) fn writer<'s>(&self, spool: &'s Spool<i32>) -> Writer<'s, i32> {
        spool.writer(self.memory.written)
    }

    /// Run a stage on all values, whose partitions are worked on as a whole. All values of a partition come to one thread, one after the other.
    ///
    /// # Errors
    /// The first error of any thread; the others stop at their next value.
    pub(super) fn run<S: Stage, O: Output>(
        &self,
        stored: &Stored<i32>,
        stage: impl Fn() -> Result<S> + Sync,
        output: impl Fn() -> O + Sync,
    ) -> Result<()> {
        let threads = self.memory.for_partitions(largest(stored))?.threads;
        let ranges = ranges(stored, threads as u64 * RANGES);
        let (queue, failed) = (Mutex::new(ranges.into_iter()), AtomicBool::new(false));
        let tally = self.control.tally(100, stored.values().len());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = |()| {
            let (mut stage, mut output, mut value) = (stage()?, output(), Vec::new());
            for at in std::iter::from_fn(next).flatten() {
                self.control.check()?;
                if failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let partition = stored.read(at, &mut value)?;
                for made in stage.push(one_value(partition, std::mem::take(&mut value))?)? {
                    output.take(&made)?;
                }
                tally.add(1);
            }
            stage.finish()?.iter().try_for_each(|made| output.take(made))?;
            output.end()
        };
        let done = parallel::map(threads, vec![(); threads], |()| {
            work(()).inspect_err(|_| failed.store(true, Ordering::Relaxed))
        });
        done.into_iter().collect()
    }
}

/// A batch of one packed value.
fn one_value(partition: i32, packed: Vec<u8>) -> Result<RecordBatch> {
    let mut values = PartitionedValues::default();
    values.push(partition, packed);
    values.into_batches()?.pop().ok_or(Error::Internal("a packed value makes no batch"))
}

/// The bytes of the largest partition.
fn largest(stored: &Stored<i32>) -> u64 {
    let (mut largest, mut bytes, mut current) = (0, 0, None);
    for (partition, len) in stored.values() {
        if current.replace(partition) != Some(partition) {
            bytes = 0;
        }
        bytes += len;
        largest = largest.max(bytes);
    }
    largest
}

/// Divide values among about `number` ranges of similar size, which end where partitions end.
fn ranges(stored: &Stored<i32>, number: u64) -> Vec<Range<usize>> {
    let total: u64 = stored.values().map(|(_, bytes)| bytes).sum();
    let most = total.div_ceil(number).max(1);
    let (mut made, mut start, mut bytes, mut current) = (Vec::new(), 0, 0, None);
    for (at, (partition, len)) in stored.values().enumerate() {
        if current.replace(partition) != Some(partition) && bytes >= most {
            made.push(start..at);
            (start, bytes) = (at, 0);
        }
        bytes += len;
    }
    made.push(start..stored.values().len());
    made
}
