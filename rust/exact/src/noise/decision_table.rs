//! A table over the weight that makes nearly every decision with one comparison.

use super::law::Law;
use super::{Noise, Threshold, tail};
use crate::numeric::widths::{clipped, index};

/// Few enough for the first-level cache, enough that in the worst bucket one word in fifty is undecided.
const BUCKETS: usize = 512;

/// Bounds, for all weights of one bucket, on the upper halves of the words that release.
#[derive(Debug, Clone, Copy)]
struct BucketBounds {
    /// A word whose upper half is larger releases no weight of the bucket.
    reject_above: u64,
    /// A word whose upper half is smaller releases every weight of the bucket.
    accept_below: u64,
}

/// Equal steps of weight from where a release is all but impossible to where it is all but certain.
#[derive(Debug, Clone)]
pub(super) struct DecisionTable {
    start: u64,
    shift: u32,
    buckets: Box<[BucketBounds; BUCKETS]>,
}

impl DecisionTable {
    /// Prepare the decisions of one round.
    pub(super) fn new(noise: Noise, law: Option<Law>, threshold: Threshold) -> Self {
        let (start, end) = transition(noise, threshold);
        let shift = (u64::BITS - (end - start).leading_zeros()).saturating_sub(BUCKETS.ilog2());
        let undecided = BucketBounds { reject_above: u64::MAX, accept_below: 0 };
        let mut buckets = Box::new([undecided; BUCKETS]);
        if let Some(law) = law {
            // A larger weight releases for more words. So a word that releases the least weight of a bucket releases
            // all of it, and a word that does not release the least weight of the next bucket releases none of it.
            for i in 0..BUCKETS {
                let least = i128::from(start) + ((i as i128) << shift);
                let bounds = law.bounds(i128::from(threshold.steps()) - least);
                if i > 0 {
                    buckets[i - 1].reject_above = upper_half(bounds.hi);
                    buckets[i].accept_below = upper_half(bounds.lo);
                }
            }
        }
        Self { start, shift, buckets }
    }

    /// The least weight of each bucket.
    #[cfg(test)]
    pub(super) fn edges(&self) -> Vec<u64> {
        (0..BUCKETS as u64).map(|i| self.start.saturating_add(i << self.shift)).collect()
    }

    #[inline]
    fn bucket(&self, weight: u64) -> &BucketBounds {
        let i = weight.saturating_sub(self.start) >> self.shift;
        &self.buckets[index(i).min(BUCKETS - 1)]
    }

    /// Whether [`Self::decide`] leaves a release open.
    #[inline]
    pub(super) fn may_release(&self, weight: u64, word: u128) -> bool {
        upper_half(word) <= self.bucket(weight).reject_above
    }

    /// The decision for this weight and word, if the table determines it.
    #[inline]
    pub(super) fn decide(&self, weight: u64, word: u128) -> Option<bool> {
        let (bucket, high) = (self.bucket(weight), upper_half(word));
        if high > bucket.reject_above {
            Some(false)
        } else if high < bucket.accept_below {
            Some(true)
        } else {
            None
        }
    }
}

/// The weights between which the probability of a release goes from about 2^-64 to about 1 - 2^-64.
fn transition(noise: Noise, threshold: Threshold) -> (u64, u64) {
    let reach = tail::table_reach(noise);
    let threshold = i128::from(threshold.steps());
    // No weight is larger, so that the transition ends there for all weights.
    let to_weight = |w: i128| clipped::<u64, _>(w.max(0).unsigned_abs());
    (to_weight(threshold - reach), to_weight(threshold + reach))
}

fn upper_half(word: u128) -> u64 {
    (word >> 64) as u64
}
