//! How the memory limit is divided.

use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::{Error, Result};
use dpsel_rows::runtime::Control;

use crate::exchange::ROWS_TOGETHER;

/// The least memory limit with which the disk engine works.
pub const LEAST: u64 = 64 << 20;

/// Bytes that a row of a task takes at most: chunk, digests, tables, ranks, noise, and what is made of it.
const ROW_BYTES: usize = 256;
/// Bytes of the limit for each thread, at least. Half of them are its stage's; while rows are read, decoders and batches
/// take about a third. With fewer, fewer threads run.
const THREAD_BYTES: usize = 32 << 20;
/// Bytes that a packed value takes in memory for each byte in scratch, at most about: in a table, with the weights that come of
/// it, and where users are handed out as they are.
pub(in crate::disk) const UNPACKED: u64 = 12;
pub(in crate::disk) const WEIGHED: u64 = UNPACKED * WEIGHTS;
pub(in crate::disk) const LISTED: u64 = 10;
/// Bytes of a sum of weights on one thread.
const SUM_BYTES: usize = size_of::<u64>();
/// Sums of weights take at most about this many times as much as the contributions, where no sum has two parts.
const WEIGHTS: u64 = 2;
/// Bytes of buffers that are not counted while rows are read into a table: of decoders, of threads and of the allocator.
const BUFFERS: usize = 48 << 20;
/// Bytes that a row takes on its way straight to the disk: its digest, number and hashes, in buffers that may double.
const STRAIGHT_BYTES: usize = 64;
/// More rows would not be written in larger pieces.
const MOST_STRAIGHT: usize = 1 << 20;
/// Smaller pieces are mostly lengths and tags.
const LEAST_WRITTEN: usize = 1 << 16;
/// More buckets would have values of a few rows.
const MOST_BUCKETS: u32 = 1 << 17;
/// Buckets of users and of items, at least (where a limit is less than [`LEAST`]) and at most. Each of users has to fit into a thread's memory, better into
/// its caches, and dividing them later takes long.
const BUCKETS: [u32; 2] = [256, 1024];
/// Rows of a piece of a bucket, at least about: the place of each piece is in memory.
const PIECE: usize = 256;
/// Rows of a block of users in scored rounds, at least and at most: smaller ones have many ranges of items, and larger ones
/// gain nothing.
const BLOCK_ROWS: [usize; 2] = if cfg!(test) { [1 << 8; 2] } else { [1 << 14, 1 << 17] };
/// Bytes of a row in such a block and in its packed form, if it is an item that one user alone keeps: such rows are the largest.
const BLOCK_ROW_BYTES: usize = 2 * 40;
/// Limits from which large pages pay until rows go to scratch.
const LARGE: usize = 512 << 20;

/// The parts of a memory limit. No release depends on them.
#[derive(Debug, Clone, Copy)]
pub(in crate::disk) struct Memory {
    /// The whole limit.
    pub(in crate::disk) limit: u64,
    /// The bytes that rows take, as they are counted, before they go to scratch.
    pub(in crate::disk) table: u64,
    /// Bytes that a stage takes.
    pub(in crate::disk) stage: u64,
    /// Threads of a stage.
    pub(in crate::disk) threads: usize,
    /// Rows of users that a task takes together.
    pub(in crate::disk) rows: usize,
    pub(in crate::disk) buckets: u32,
    /// The most candidates whose weights are added up in one pass.
    pub(in crate::disk) summed: usize,
    /// The bytes of items that have codes, and of the buckets that are read beside them.
    pub(in crate::disk) coded: usize,
    /// Rows that a thread collects before it puts them into order of buckets, where there is no table.
    pub(in crate::disk) straight: usize,
    /// Bytes that a thread collects before it writes.
    pub(in crate::disk) written: usize,
    /// Rows of a block of users in scored rounds, about. A thread holds one block at a time.
    pub(in crate::disk) block_rows: usize,
}

impl Memory {
    /// Beside the buffers, rows take half of the limit while they are read, and their grouping and packing most of the
    /// rest. A stage takes half as well; the rest is for user counts, decisions and the index of scratch. Items that have codes,
    /// with the buckets that are read beside them, may take three quarters.
    pub(in crate::disk) fn new(limit: u64, control: &Control) -> Self {
        let threads = control.threads().min(Self::most_threads(limit));
        let limit = index(limit);
        let table = (limit.saturating_sub(BUFFERS) / 2).max(limit / 6) as u64;
        let summed = (limit / 8 / threads / SUM_BYTES).max(1);
        let reading = limit / 2 / threads;
        let straight = (reading / STRAIGHT_BYTES).clamp(1, MOST_STRAIGHT);
        let ([least, most], [least_rows, most_rows]) = (BUCKETS, BLOCK_ROWS);
        Self {
            limit: limit as u64,
            table,
            stage: limit as u64 / 2,
            threads,
            rows: rows(limit / 2 / threads),
            buckets: codes(straight / PIECE).clamp(least, most),
            summed,
            coded: limit / 4 * 3,
            straight,
            written: (reading / 16).max(LEAST_WRITTEN),
            block_rows: (limit / 32 / threads / BLOCK_ROW_BYTES).clamp(least_rows, most_rows),
        }
    }

    /// The most threads whose buffers fit into a limit.
    pub(in crate::disk) fn most_threads(limit: u64) -> usize {
        index(limit / THREAD_BYTES as u64).max(1)
    }

    /// This division for a stage beside so many bytes that stay in memory: it takes what they leave of the limit, if that is
    /// less than usual, and an eighth at least.
    pub(in crate::disk) fn beside(self, held: u64) -> Self {
        let stage = self.limit.saturating_sub(held).clamp(self.limit / 8, self.stage.max(self.limit / 8));
        let threads = self.threads.min(index(stage * 2 / THREAD_BYTES as u64)).max(1);
        Self { stage, threads, rows: rows(index(stage) / threads), ..self }
    }

    /// Bytes of a block of users at most.
    pub(in crate::disk) fn block_bytes(self) -> usize {
        self.block_rows * BLOCK_ROW_BYTES
    }

    /// The bytes that items with codes may take while buckets of this many packed bytes are read, and each thread has a block
    /// of so many bytes. Half of the limit is theirs in any case.
    pub(in crate::disk) fn coded_beside(self, largest: u64, block: usize) -> usize {
        // Otherwise: not even one thread can read them, which is an error when it tries.
        let threads = self.fitting(largest, LISTED).map_or(1, |memory| memory.threads);
        let read = index(largest.saturating_mul(LISTED)).saturating_mul(threads);
        let taken = read.saturating_add(block.saturating_mul(self.threads));
        self.coded.saturating_sub(taken).max(self.coded / 3 * 2)
    }

    /// The error of a job whose items with codes take more bytes: what they are, and what to do instead of raising the limit.
    ///
    /// It names the least of the limits doubled from this one on whose half has room for them. Trying one after the other
    /// would tell as much of the data.
    pub(in crate::disk) fn exceeded(
        self,
        needed: usize,
        (what, instead): (&'static str, &'static str),
    ) -> Error {
        let doubled = |limit: &u64| limit.checked_mul(2);
        let enough = std::iter::successors(doubled(&self.limit), doubled);
        let enough = enough.into_iter().find(|limit| limit / 2 >= needed as u64);
        // Otherwise: no limit would do.
        Error::DiskMemory { limit: self.limit, enough: enough.unwrap_or(u64::MAX), what, instead }
    }

    /// Whether large pages of the system would take too much of the limit, from the first row on.
    pub(in crate::disk) fn is_small(&self) -> bool {
        self.limit < LARGE as u64
    }

    /// This division, with so many buckets that each thread can hold one, if the largest of those so far has this many
    /// packed bytes, each of which takes `held` in memory. A user is never divided.
    pub(in crate::disk) fn divided(self, largest: u64, held: u64) -> Self {
        let most = (self.stage / self.threads as u64 / held).max(1);
        let times = u32::try_from(largest.div_ceil(most)).unwrap_or(MOST_BUCKETS); // Otherwise: cut off below.
        let more = times.max(1).checked_next_power_of_two().unwrap_or(MOST_BUCKETS); // Otherwise: as before.
        let buckets = self.buckets.saturating_mul(more).min(MOST_BUCKETS.max(self.buckets));
        // Old buckets are divided, never joined.
        Self { buckets: buckets - buckets % self.buckets, ..self }
    }

    /// This division, with so few threads that each can hold a bucket of this many packed bytes, each of which takes `held`
    /// in memory.
    ///
    /// # Errors
    /// [`Error::MemoryLimit`] if not even one can.
    pub(in crate::disk) fn fitting(self, largest: u64, held: u64) -> Result<Self> {
        let each = largest.saturating_mul(held).max(1);
        if each > self.limit {
            return Err(Error::MemoryLimit { limit: self.limit, stage: "working on one bucket of the disk" });
        }
        Ok(Self { threads: self.threads.min(index(self.stage / each)).max(1), ..self })
    }
}

/// Rows of a task for a thread with so many bytes.
fn rows(each: usize) -> usize {
    (each / ROW_BYTES).clamp(1, ROWS_TOGETHER)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    #[test]
    fn threads_and_buckets_fit_into_the_limit() {
        let control = Control::new(NonZeroUsize::new(8), None);
        for (limit, threads, buckets) in
            [(1 << 20, 1, 256), (LEAST, 2, 1024), (1 << 28, 8, 1024), (1 << 30, 8, 1024)]
        {
            let memory = Memory::new(limit, &control);
            assert_eq!((memory.threads, memory.buckets), (threads, buckets));
            let rows = memory.threads * (memory.rows * ROW_BYTES + memory.written);
            assert!(rows as u64 <= limit * 2 / 3 && memory.table <= limit / 2);
            assert!((memory.threads * memory.straight * STRAIGHT_BYTES) as u64 <= limit / 2);
        }
        assert_eq!([1, LEAST, 1 << 30].map(Memory::most_threads), [1, 2, 32]);
        assert!(Memory::new((LARGE - 1) as u64, &control).is_small());
        let memory = Memory::new(1 << 30, &control);
        assert!(!memory.is_small());
        assert_eq!(memory.coded_beside(0, 0), 768 << 20);
        assert_eq!(memory.coded_beside(1 << 20, 0), 688 << 20);
        assert_eq!(memory.coded_beside(1 << 20, 10 << 20), 608 << 20);
        // One large user takes threads from the stage, and no more.
        assert_eq!([40 << 20, u64::MAX].map(|largest| memory.coded_beside(largest, 0)), [512 << 20; 2]);
        let threads = |largest| memory.fitting(largest, UNPACKED).map(|memory| memory.threads);
        assert_eq!(threads(1 << 20).unwrap(), 8);
        assert_eq!(threads(20 << 20).unwrap(), 2);
        assert_eq!(threads(80 << 20).unwrap(), 1);
        assert!(matches!(threads(90 << 20), Err(Error::MemoryLimit { .. })));
        let buckets = |largest| memory.divided(largest, WEIGHED).buckets;
        let each = (1_u64 << 30) / 2 / 8 / UNPACKED / WEIGHTS;
        assert_eq!([0, each, each + 1, 5 * each].map(buckets), [1024, 1024, 2048, 8192]);
        assert_eq!(buckets(u64::MAX), MOST_BUCKETS);
    }

    #[test]
    fn a_limit_that_would_do_is_a_doubled_one() {
        let memory = Memory::new(100 << 20, &Control::default());
        let enough = |needed| match memory.exceeded(needed, ("items", "do that")) {
            Error::DiskMemory { limit, enough, .. } if limit == memory.limit => enough,
            other => panic!("{other}"),
        };
        for (needed, times) in [(80 << 20, 2), (100 << 20, 2), ((100 << 20) + 1, 4), (1_500 << 20, 32)] {
            assert_eq!(enough(needed), times * memory.limit);
            let doubled = Memory::new(times * memory.limit, &Control::default());
            assert!(
                doubled.coded_beside(u64::MAX, 1 << 30) >= needed,
                "there is room beside the largest user"
            );
        }
        assert_eq!(enough(usize::MAX), u64::MAX);
    }

    #[test]
    fn a_stage_takes_what_is_left() {
        let control = Control::new(NonZeroUsize::new(8), None);
        let memory = Memory::new(1 << 28, &control);
        let beside = |held| memory.beside(held);
        assert_eq!((beside(0).stage, beside(0).threads), (1 << 27, 8));
        assert_eq!((beside(3 << 26).stage, beside(3 << 26).threads), (1 << 26, 4));
        for held in [3 << 26, 1 << 28, u64::MAX] {
            let memory = beside(held);
            assert!(memory.stage == ((1 << 28) - held.min(1 << 28)).max(1 << 25));
            assert!((memory.threads * memory.rows * ROW_BYTES) as u64 <= memory.stage);
        }
    }
}
