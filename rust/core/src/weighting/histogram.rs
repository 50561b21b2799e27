//! The weighted histogram of one round.
//!
//! Adding at random places of an array that is larger than the cache costs a cache miss an addition (measured: 18 ns,
//! against 3 ns inside 4 MiB). So contributions are first put into batches by ranges of items, which is sequential, and
//! then each range is added up by one thread: in cache, and without atomic operations.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::clipped;
use dpsel_rows::runtime::memory::Array;
use dpsel_rows::runtime::{Control, TALLIED, Tally, WEIGHING, parallel};

use crate::bounding::{BoundedContributions, KeptItems};

/// Codes below this are summed by each thread for itself. Codes grow with first appearance, or are small integers that
/// number items, often by frequency. So frequent items are among them, and their contributions need not be put into
/// batches.
const PRIVATE_CODES: usize = 1 << 16;
/// Places where other codes add zero. With one place alone each addition would wait for the last.
const ASIDE: usize = 64;
/// Contributions that wait at most.
const WAITING: usize = 4096;
/// Codes whose upper halves share a page of memory.
const PAGE: usize = 1024;
/// Contributions in one block of a batch.
const BLOCK: usize = 8192;
/// Parts of users for each one of other stages, at least: how many items they have is not looked up.
const PARTS: usize = 8;
/// Bits of a code inside its range; the sums of a range take 1 MiB.
const RANGE_BITS: u32 = 18;
/// Codes of a range.
const RANGE: usize = 1 << RANGE_BITS;
/// Bits for the number of items of a user beside a code of a range; users with more are added up in the end.
const COUNT_BITS: u32 = u32::BITS - RANGE_BITS;
/// The most items of a user that fit these bits.
const MOST: u32 = (1 << COUNT_BITS) - 1;

/// Sum of the weights of each item code, in grid steps.
///
/// The sums have 64 bits in two halves. Most items have few users, so the upper halves are hardly touched, and the
/// lower ones take half the cache.
#[derive(Debug)]
pub struct WeightHistogram {
    low: Array<u32>,
    high: Array<u32>,
    /// Whether a page of upper halves may have something else than zeros.
    touched: Vec<bool>,
    /// One per thread, kept for their memory; none before the first round.
    parts: Vec<ThreadWeights>,
}

/// The sums of some items, from a multiple of [`PAGE`] on.
struct Sums<'a> {
    low: &'a mut [u32],
    high: &'a mut [u32],
    touched: &'a mut [bool],
}

impl WeightHistogram {
    /// All weights zero.
    #[must_use]
    pub(crate) fn new(code_bound: usize) -> Self {
        Self {
            low: Array::zeroed(code_bound),
            high: Array::zeroed(code_bound),
            touched: vec![false; code_bound.div_ceil(PAGE)],
            parts: Vec::new(),
        }
    }

    /// All codes are below this.
    #[must_use]
    pub(crate) fn code_bound(&self) -> usize {
        self.low.as_slice().len()
    }

    /// The weights of some codes.
    pub(crate) fn weights(&self, codes: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        let pages = codes.start / PAGE..codes.end.div_ceil(PAGE);
        // Pages that nobody wrote to are not read either: the system would provide them.
        let is_touched = self.touched[pages].contains(&true);
        let high = is_touched.then(|| &self.high.as_slice()[codes.clone()]);
        self.low.as_slice()[codes].iter().enumerate().map(move |(at, low)| {
            let high = high.map_or(0, |high| u64::from(high[at]));
            high << u32::BITS | u64::from(*low)
        })
    }

    fn sums(&mut self) -> Sums<'_> {
        Sums { low: self.low.as_mut_slice(), high: self.high.as_mut_slice(), touched: &mut self.touched }
    }

    /// Set to the weights of one round: every user of k kept items gives `weight`(k) to each of them.
    ///
    /// The sums are of integers, so neither the order of users nor the number of threads matters.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn weigh(
        &mut self,
        contributions: &BoundedContributions,
        weight: impl Fn(u32) -> u64,
        control: &Control,
    ) -> Result<()> {
        let weights: Vec<u64> = (0..=contributions.bound().min(MOST)).map(&weight).collect();
        let codes = self.code_bound();
        let threads = contributions.threads(control);
        self.parts.resize_with(threads, ThreadWeights::default);
        let tally = control.tally(WEIGHING, contributions.users());
        let kept = contributions.kept();
        // Users take different times, so each thread takes some until none are left.
        let all = contributions.users();
        let step = all.div_ceil(parallel::parts_for(threads) * PARTS).clamp(1, TALLIED);
        let users = Mutex::new((0..all).step_by(step).map(|first| first..all.min(first + step)));
        parallel::map(threads, self.parts.iter_mut().collect(), |part: &mut ThreadWeights| {
            part.clear(codes);
            // Nothing panics while it holds the lock.
            let next = || users.lock().unwrap_or_else(PoisonError::into_inner).next();
            for users in std::iter::from_fn(next) {
                part.collect(&kept, users, &weights, tally);
            }
        });
        self.add_ranges(&weights, control);
        self.add_rest(contributions, weight);
        control.check()
    }

    /// Set to weights found elsewhere, one for each code.
    pub(super) fn set(&mut self, weights: impl Iterator<Item = u64>) {
        self.set_sums((0..).zip(weights));
    }

    /// Set to the sums of weights found elsewhere, each with the code of its item.
    pub(super) fn set_sums(&mut self, weights: impl Iterator<Item = (u32, u64)>) {
        let mut sums = self.sums();
        sums.clear();
        weights.for_each(|(item, weight)| sums.add(item as usize, weight));
    }

    /// Add the contributions that are not in batches.
    fn add_rest(&mut self, contributions: &BoundedContributions, weight: impl Fn(u32) -> u64) {
        let parts = std::mem::take(&mut self.parts);
        let mut sums = self.sums();
        for part in &parts {
            for (item, &sum) in part.private.iter().skip(ASIDE).enumerate() {
                sums.add(item, sum);
            }
            for &user in &part.large {
                let items = contributions.kept_items(user);
                // Users of more items give less to each.
                let weight = weight(clipped(items.len()));
                for item in items {
                    sums.add(*item as usize, weight);
                }
            }
        }
        self.parts = parts;
    }

    /// Set every range to the sums of its batches.
    fn add_ranges(&mut self, weights: &[u64], control: &Control) {
        let threads = parallel::threads_for(self.code_bound(), control);
        let parts = std::mem::take(&mut self.parts);
        let ranges = self.sums().ranges().enumerate().collect();
        parallel::map(threads, ranges, |(at, mut sums): (_, Sums<'_>)| {
            sums.clear();
            for block in parts.iter().flat_map(|part| part.batches[at].blocks()) {
                for entry in block {
                    let (item, k) = (entry >> COUNT_BITS, entry & MOST);
                    sums.add(item as usize, weights[k as usize]);
                }
            }
        });
        self.parts = parts;
    }
}

impl<'a> Sums<'a> {
    /// Each range of codes for itself.
    fn ranges(self) -> impl Iterator<Item = Sums<'a>> {
        let high = self.high.chunks_mut(RANGE).zip(self.touched.chunks_mut(RANGE / PAGE));
        self.low.chunks_mut(RANGE).zip(high).map(|(low, (high, touched))| Sums { low, high, touched })
    }

    /// Set everything to zero.
    ///
    /// Lower halves are written to at first, too: the system provides a page twice if it is read before. Most pages of
    /// upper halves are zeros that were never touched, and stay so.
    fn clear(&mut self) {
        self.low.fill(0);
        for (high, touched) in self.high.chunks_mut(PAGE).zip(&mut *self.touched) {
            if std::mem::take(touched) {
                high.fill(0);
            }
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are meant")]
    fn add(&mut self, item: usize, weight: u64) {
        let (sum, carry) = self.low[item].overflowing_add(weight as u32);
        self.low[item] = sum;
        let upper = (weight >> u32::BITS) as u32 + u32::from(carry);
        if upper > 0 {
            self.high[item] += upper;
            self.touched[item / PAGE] = true;
        }
    }
}

/// Contributions to a range, in blocks: a single vector would be copied each time that it grows.
#[derive(Debug, Default)]
struct RangeBatch {
    full: Vec<Box<[u32]>>,
    /// The first `len` places are taken.
    open: Box<[u32]>,
    len: usize,
    /// Blocks of the round before, kept for their memory.
    spare: Vec<Box<[u32]>>,
}

impl RangeBatch {
    fn clear(&mut self) {
        self.spare.append(&mut self.full);
        self.len = 0;
    }

    #[inline]
    fn push(&mut self, entry: u32) {
        if self.len == self.open.len() {
            self.open_next();
        }
        self.open[self.len] = entry;
        self.len += 1;
    }

    #[cold]
    fn open_next(&mut self) {
        let next = self.spare.pop().unwrap_or_else(|| vec![0; BLOCK].into_boxed_slice());
        let full = std::mem::replace(&mut self.open, next);
        if self.len > 0 {
            self.full.push(full);
        }
        self.len = 0;
    }

    fn blocks(&self) -> impl Iterator<Item = &[u32]> {
        self.full.iter().map(|block| &**block).chain([&self.open[..self.len]])
    }
}

/// The contributions of the users of one thread.
#[derive(Debug, Default)]
struct ThreadWeights {
    /// Sums of the first codes. Before them are places where other codes add zero.
    private: Vec<u64>,
    /// Contributions to the other codes by range: the code inside its range, and the number of items of the user.
    batches: Vec<RangeBatch>,
    /// Contributions that go to a batch soon: the item, and the number of items of the user.
    waiting: Vec<(u32, u32)>,
    /// Users with too many items for that.
    large: Vec<usize>,
}

impl ThreadWeights {
    /// Start anew, for codes below `codes`.
    fn clear(&mut self, codes: usize) {
        self.private.clear();
        self.private.resize(ASIDE + PRIVATE_CODES.min(codes), 0);
        self.batches.resize_with(codes.div_ceil(RANGE), RangeBatch::default);
        self.batches.iter_mut().for_each(RangeBatch::clear);
        self.waiting.resize(WAITING, (0, 0));
        self.large.clear();
    }

    /// Add the contributions of some users.
    fn collect(&mut self, kept: &KeptItems<'_>, users: Range<usize>, weights: &[u64], tally: Tally<'_>) {
        let mut waiting = 0;
        tally.each(users, |user| {
            let items = kept.items_of(user);
            let (Some(&weight), Ok(k)) = (weights.get(items.len()), u32::try_from(items.len())) else {
                return self.large.push(user);
            };
            for items in items.chunks(WAITING) {
                if waiting + items.len() > WAITING {
                    self.sort(std::mem::take(&mut waiting));
                }
                waiting = self.add(items, (weight, k), waiting);
            }
        });
        self.sort(waiting);
    }

    /// Add `weight` for each of some items of a user of k items. Returns how many contributions wait then.
    ///
    /// Frequent and other items alternate at random, which a branch could not predict. So the loop has none: every
    /// contribution adds something to `private`, and is written to `waiting`, where the next one replaces it unless it
    /// has to stay.
    #[inline]
    fn add(&mut self, items: &[u32], (weight, k): (u64, u32), mut waiting: usize) -> usize {
        let private = self.private.as_mut_slice();
        let places = &mut self.waiting[..WAITING];
        for &item in items {
            let code = item as usize;
            let is_private = code < PRIVATE_CODES;
            private[if is_private { ASIDE + code } else { code % ASIDE }] +=
                if is_private { weight } else { 0 };
            places[waiting] = (item, k);
            waiting += usize::from(!is_private);
        }
        waiting
    }

    /// Put the contributions that wait into their batches.
    fn sort(&mut self, waiting: usize) {
        for (item, k) in &self.waiting[..waiting] {
            self.batches[*item as usize >> RANGE_BITS].push(item << COUNT_BITS | k);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_what_was_pushed_since_it_was_emptied() {
        let mut batch = RangeBatch::default();
        for entries in [3 * BLOCK + 5, 2 * BLOCK, 0, 4 * BLOCK, 7] {
            batch.clear();
            let entries: Vec<u32> = (0_u32..).take(entries).collect();
            for entry in &entries {
                batch.push(*entry);
            }
            assert_eq!(batch.blocks().collect::<Vec<_>>().concat(), entries);
        }
        // No time needed more blocks than the first, and all are kept.
        assert_eq!(batch.full.len() + batch.spare.len(), 3);
    }
}
