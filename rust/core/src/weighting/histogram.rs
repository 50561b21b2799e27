//! The weighted histogram of one round.
//!
//! Adding at random places of an array that is larger than the cache costs a cache miss an addition (measured: 18 ns,
//! against 3 ns inside 4 MiB). So contributions are first put into buckets by ranges of items, which is sequential, and
//! then each range is added up by one thread: in cache, and without atomic operations.

use std::ops::Range;

use crate::Result;
use crate::bounding::BoundedContributions;
use crate::numeric::widths::clipped;
use crate::runtime::memory::Array;
use crate::runtime::{Control, Tally, WEIGHING, parallel};

/// Codes below this are summed by each thread for itself. Codes grow with first appearance, or are small integers that
/// number items, often by frequency. So frequent items are among them, and their contributions need not be put into
/// buckets.
const PRIVATE_CODES: usize = 1 << 16;
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
    /// One per thread, kept for their memory; none before the first round.
    parts: Vec<Part>,
}

impl WeightHistogram {
    /// All weights zero.
    pub(crate) fn new(code_bound: usize) -> Self {
        Self { low: Array::zeroed(code_bound), high: Array::zeroed(code_bound), parts: Vec::new() }
    }

    /// All codes are below this.
    pub(crate) fn code_bound(&self) -> usize {
        self.low.as_slice().len()
    }

    /// The weights of some codes.
    pub(crate) fn weights(&self, codes: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        let (low, high) = (&self.low.as_slice()[codes.clone()], &self.high.as_slice()[codes]);
        low.iter().zip(high).map(|(low, high)| u64::from(*high) << u32::BITS | u64::from(*low))
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
        let (users, codes, first) =
            (contributions.user_ranges(control), self.code_bound(), self.parts.is_empty());
        self.parts.resize_with(users.len(), Part::default);
        let parts: Vec<_> = self.parts.iter_mut().zip(users).collect();
        let tally = control.tally(WEIGHING, contributions.users());
        parallel::map(parts.len(), parts, |(part, users)| {
            part.collect(contributions, users, &weights, codes, tally);
        });
        self.add_ranges(&weights, first, control);
        self.add_rest(contributions, weight);
        control.check()
    }

    /// Set to weights found elsewhere, one for each code.
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are meant")]
    pub(super) fn set(&mut self, weights: impl Iterator<Item = u64>) {
        let sums = self.low.as_mut_slice().iter_mut().zip(self.high.as_mut_slice());
        for ((low, high), weight) in sums.zip(weights) {
            (*low, *high) = (weight as u32, (weight >> u32::BITS) as u32);
        }
    }

    /// Add the contributions that are not in buckets.
    fn add_rest(&mut self, contributions: &BoundedContributions, weight: impl Fn(u32) -> u64) {
        let (low, high) = (self.low.as_mut_slice(), self.high.as_mut_slice());
        for part in &self.parts {
            for (item, &sum) in part.private.iter().enumerate() {
                add(low, high, item, sum);
            }
            for &user in &part.large {
                let items = contributions.kept_items(user);
                // Users of more items give less to each.
                let weight = weight(clipped(items.len()));
                for item in items {
                    add(low, high, *item as usize, weight);
                }
            }
        }
    }

    /// Set every range to the sums of its buckets. The sums are zero in the `first` round.
    fn add_ranges(&mut self, weights: &[u64], first: bool, control: &Control) {
        let threads = parallel::threads_for(self.code_bound(), control);
        let (low, high) = (self.low.as_mut_slice(), self.high.as_mut_slice());
        let ranges = low.chunks_mut(RANGE).zip(high.chunks_mut(RANGE)).enumerate().collect();
        let parts = &self.parts;
        parallel::map(threads, ranges, |(at, (low, high))| {
            // Also at first: the system provides a page twice if it is read before it is written to.
            low.fill(0);
            if !first {
                clear(high);
            }
            for entry in parts.iter().flat_map(|part| &part.buckets[at]) {
                let (item, k) = (entry >> COUNT_BITS, entry & MOST);
                add(low, high, item as usize, weights[k as usize]);
            }
        });
    }
}

/// Set everything to zero without writing to pages of zeros: most pages of the upper halves were never touched.
fn clear(sums: &mut [u32]) {
    for page in sums.chunks_mut(1024).filter(|page| page.iter().any(|sum| *sum != 0)) {
        page.fill(0);
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves are meant")]
fn add(low: &mut [u32], high: &mut [u32], item: usize, weight: u64) {
    let (sum, carry) = low[item].overflowing_add(weight as u32);
    low[item] = sum;
    let upper = (weight >> u32::BITS) as u32 + u32::from(carry);
    if upper > 0 {
        high[item] += upper;
    }
}

/// The contributions of the users of one thread.
#[derive(Debug, Default)]
struct Part {
    /// Sums of the first codes.
    private: Vec<u64>,
    /// Contributions to the other codes by range: the code inside its range, and the number of items of the user.
    buckets: Vec<Vec<u32>>,
    /// Users with too many items for that.
    large: Vec<usize>,
}

impl Part {
    fn collect(
        &mut self,
        contributions: &BoundedContributions,
        users: Range<usize>,
        weights: &[u64],
        codes: usize,
        tally: Tally<'_>,
    ) {
        self.private.clear();
        self.private.resize(PRIVATE_CODES.min(codes), 0);
        self.buckets.resize_with(codes.div_ceil(RANGE), Vec::new);
        self.buckets.iter_mut().for_each(Vec::clear);
        self.large.clear();
        tally.each(users, |user| {
            let items = contributions.kept_items(user);
            let (Some(&weight), Ok(k)) = (weights.get(items.len()), u32::try_from(items.len())) else {
                return self.large.push(user);
            };
            for &item in items {
                match self.private.get_mut(item as usize) {
                    Some(sum) => *sum += weight,
                    None => self.buckets[item as usize >> RANGE_BITS].push(item << COUNT_BITS | k),
                }
            }
        });
    }
}
