//! Runs a stage of the exchange on what is in scratch: each thread takes ranges of buckets, in ascending order.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::RowOrder;
use dpsel_rows::runtime::{Control, Tally, parallel};
use dpsel_rows::scratch::{Spool, Stored, Writer};

use super::memory::{LISTED, Memory, UNPACKED};
use super::output::{Gathered, Output};
use crate::exchange::{Gather, Lengths, Stage, bucketed_batch};

/// Ranges for each thread. With several, a thread that is done early takes more.
const RANGES: u64 = 8;
/// Bytes of values that a stage gets at once, at least. A batch for each of many small values would take longer.
const READ: usize = 1 << 18;
/// The part of the progress that is shown while a stage runs.
const WORKING: u64 = 100;

/// Runs stages within a share of the memory.
#[derive(Debug, Clone, Copy)]
pub(in crate::disk) struct Stages<'a> {
    pub(in crate::disk) memory: Memory,
    pub(in crate::disk) control: &'a Control,
}

impl Stages<'_> {
    /// Do `work` within a limit, on so few threads that their buffers fit into it.
    pub(in crate::disk) fn within<T>(limit: u64, control: &Control, work: impl FnOnce(Stages<'_>) -> T) -> T {
        let control = control.with_at_most(Memory::most_threads(limit));
        work(Stages { memory: Memory::new(limit, &control), control: &control })
    }

    /// A writer to scratch for one thread.
    pub(in crate::disk) fn writer<'s>(&self, spool: &'s Spool) -> Writer<'s> {
        spool.writer(self.memory.written)
    }

    /// Run a stage on all values, whose buckets are worked on as a whole. All values of a bucket come to one
    /// thread, one after the other. A thread runs one stage on all its buckets.
    ///
    /// # Errors
    /// The first error of any thread; the others stop at their next value.
    pub(in crate::disk) fn run<S: Stage, O: Output>(
        &self,
        stored: &Stored,
        stage: impl Fn() -> Result<S> + Sync,
        output: impl Fn() -> O + Sync,
    ) -> Result<()> {
        let parts = parts(stored);
        let threads = self.memory.fitting(largest(&parts), UNPACKED)?.threads;
        let ranges = ranges(&parts, threads as u64 * RANGES);
        let queue = Queue::new(ranges, self.control, stored.values().len());
        queue.work(
            threads,
            || Ok((stage()?, output())),
            |(stage, output), range| {
                queue.each_batch(stored, range, |batch| {
                    stage.push(batch)?.iter().try_for_each(|made| output.take(made))
                })
            },
            |(mut stage, mut output)| {
                stage.finish()?.iter().try_for_each(|made| output.take(made))?;
                output.end()
            },
        )
    }

    /// Do `work` with every value by itself. Each thread starts with a value of its own, which `end` takes.
    ///
    /// # Errors
    /// As [`Stages::run`].
    pub(in crate::disk) fn each_value<T>(
        &self,
        stored: &Stored,
        start: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, i32, &[u8]) -> Result<()> + Sync,
        end: impl Fn(T) -> Result<()> + Sync,
    ) -> Result<()> {
        self.each(
            (0..stored.values().len()).collect(),
            || (start(), Vec::new()),
            |(own, value), at| {
                let bucket = stored.read(at, value)?;
                work(own, bucket, value)
            },
            |(own, _)| end(own),
        )
    }

    /// Do `work` with every task. Each thread starts with a value of its own, which `end` takes.
    ///
    /// # Errors
    /// As [`Stages::run`].
    pub(in crate::disk) fn each<X: Send, T>(
        &self,
        tasks: Vec<X>,
        start: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, X) -> Result<()> + Sync,
        end: impl Fn(T) -> Result<()> + Sync,
    ) -> Result<()> {
        let number = tasks.len();
        let queue = Queue::new(tasks, self.control, number);
        let work = |own: &mut T, task| {
            self.control.check()?;
            work(own, task)?;
            queue.tally.add(1);
            Ok(())
        };
        queue.work(self.memory.threads, || Ok(start()), work, end)
    }

    /// Do `work` with each bucket by itself: its number, and the positions of its values. Each thread starts with a
    /// value of its own, which `end` takes.
    ///
    /// # Errors
    /// As [`Stages::run`].
    pub(in crate::disk) fn each_bucket<T>(
        &self,
        stored: &Stored,
        start: impl Fn() -> T + Sync,
        work: impl Fn(&mut T, i32, Range<usize>) -> Result<()> + Sync,
        end: impl Fn(T) -> Result<()> + Sync,
    ) -> Result<()> {
        let parts = parts(stored);
        let memory = self.memory.fitting(largest(&parts), LISTED)?;
        let work = |own: &mut T, BucketRange { bucket, values, .. }| work(own, bucket, values);
        Stages { memory, ..*self }.each(parts, start, work, end)
    }

    /// The number of users in each class, by their numbers of distinct items: see [`dpsel_core::look::users_by_size`].
    ///
    /// # Errors
    /// As [`Stages::run`].
    pub(in crate::disk) fn users_by_size(
        &self,
        contributions: &Stored,
        sizes: &[u32],
        key: &ReleaseKey,
    ) -> Result<Vec<u64>> {
        let (lengths, counted) = (Lengths { sizes: sizes.to_vec() }, Gathered::default());
        self.run(
            contributions,
            || Ok(Gather::new(lengths.clone(), key, RowOrder::Any, self.memory.rows)),
            || &counted,
        )?;
        Ok(lengths.total(counted.packed().bytes()))
    }
}

/// The work that is left of a stage, for all threads.
struct Queue<'a, T> {
    tasks: Mutex<std::vec::IntoIter<T>>,
    failed: AtomicBool,
    control: &'a Control,
    tally: Tally<'a>,
}

impl<'a, T: Send> Queue<'a, T> {
    fn new(tasks: Vec<T>, control: &'a Control, values: usize) -> Self {
        let tally = control.tally(WORKING, values);
        Self { tasks: Mutex::new(tasks.into_iter()), failed: AtomicBool::new(false), control, tally }
    }

    /// The next task; none after an error.
    fn next(&self) -> Option<T> {
        if self.has_failed() {
            return None;
        }
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Do `work` with all tasks. If a thread fails, what the others made is not used.
    fn work<W>(
        &self,
        threads: usize,
        start: impl Fn() -> Result<W> + Sync,
        work: impl Fn(&mut W, T) -> Result<()> + Sync,
        end: impl Fn(W) -> Result<()> + Sync,
    ) -> Result<()> {
        let on_thread = || {
            let mut own = start()?;
            while let Some(task) = self.next() {
                work(&mut own, task)?;
            }
            if self.has_failed() { Ok(()) } else { end(own) }
        };
        let done = parallel::map(threads, vec![(); threads], |()| {
            on_thread().inspect_err(|_| self.failed.store(true, Ordering::Relaxed))
        });
        done.into_iter().collect()
    }

    /// Read a range of values, in batches, unless another thread has failed.
    fn each_batch(
        &self,
        stored: &Stored,
        range: Range<usize>,
        mut each: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for at in range.clone() {
            let mut value = Vec::new();
            let bucket = stored.read(at, &mut value)?;
            bytes += value.len();
            rows.push((bucket, value));
            if bytes < READ && at + 1 < range.end {
                continue;
            }
            self.control.check()?;
            if self.has_failed() {
                return Ok(());
            }
            each(bucketed_batch(&rows)?)?;
            self.tally.add(rows.len());
            (bytes, rows) = (0, Vec::new());
        }
        Ok(())
    }
}

/// All values of a bucket.
pub(in crate::disk) struct BucketRange {
    pub(in crate::disk) bucket: i32,
    pub(in crate::disk) values: Range<usize>,
    bytes: u64,
}

/// The buckets, in ascending order.
pub(in crate::disk) fn parts(stored: &Stored) -> Vec<BucketRange> {
    let mut found: Vec<BucketRange> = Vec::new();
    for (at, (bucket, len)) in stored.values().enumerate() {
        match found.last_mut().filter(|part| part.bucket == bucket) {
            Some(part) => (part.values.end, part.bytes) = (at + 1, part.bytes + len),
            None => found.push(BucketRange { bucket, values: at..at + 1, bytes: len }),
        }
    }
    found
}

/// The bytes of the largest bucket; 0 if there is none.
pub(in crate::disk) fn largest(parts: &[BucketRange]) -> u64 {
    parts.iter().map(|part| part.bytes).fold(0, u64::max)
}

/// Divide buckets among about `number` ranges of similar size.
fn ranges(parts: &[BucketRange], number: u64) -> Vec<Range<usize>> {
    let total: u64 = parts.iter().map(|part| part.bytes).sum();
    let most = total.div_ceil(number).max(1);
    let (mut made, mut current, mut bytes) = (Vec::new(), 0..0, 0);
    for part in parts {
        if bytes >= most {
            made.push(std::mem::replace(&mut current, part.values.start..part.values.start));
            bytes = 0;
        }
        current.end = part.values.end;
        bytes += part.bytes;
    }
    made.push(current);
    made
}
