//! The counts in descending order, as far as they are needed: no sort of all items.
//!
//! An item is known by its rank from 0; items of equal count are in an order that depends on the items alone.
//! Mechanisms query the number of items with at least a given count.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;

use dpsel_exact::numeric::widths::{clipped, index};
use dpsel_exact::random::Digest;

use super::counts::{Counts, MAX_COUNT, Place};
use super::window::Window;

/// A count and its position; sorted, these are by descending count, and equal ones by position.
type Entry = (Reverse<i64>, usize);

/// The counts by rank.
#[derive(Debug)]
pub(in crate::top_k) struct RankedCounts<'a> {
    counts: Counts<'a>,
    /// The largest counts, descending, including the zeros of unseen items.
    top: Vec<i64>,
    /// The positions of the largest counts, without unseen items.
    top_positions: Vec<usize>,
    /// The smallest listed count.
    least: i64,
    near: Near,
    /// All listed counts. Made only when a draw goes beyond the horizon.
    all: OnceCell<Vec<Entry>>,
}

/// The counts below the largest ones, down to the horizon.
#[derive(Debug)]
enum Near {
    Dense(Window),
    /// The sorted counts, with the largest ones. All counts of at least `floor` are among them.
    Sparse {
        entries: Vec<Entry>,
        floor: i128,
    },
}

/// The longest window that is tabulated, unless half the counts is more;
const DENSE: u128 = 1 << 16;
/// shorter if the window has more than this number of values for each count.
const SHORT: u128 = 8;

impl<'a> RankedCounts<'a> {
    /// The `keep` largest counts, and the counts less than `horizon` levels below the last of these.
    pub(in crate::top_k) fn new(counts: Counts<'a>, keep: usize, horizon: u128) -> Self {
        let (largest, least) = largest(counts.counts, keep);
        let ceiling = largest.last().map_or(0, |(Reverse(count), _)| *count);
        let (mut top, top_positions): (Vec<i64>, Vec<usize>) =
            largest.into_iter().map(|(Reverse(count), position)| (count, position)).unzip();
        let missing = counts.unseen.min((keep - top.len()) as u64);
        top.resize(top.len() + index(missing), 0);
        // No count is farther from the ceiling than the least one.
        let window = clipped::<u64, _>(horizon).min(ceiling.abs_diff(least));
        let items = counts.counts.len() as u128;
        // longer ones if they take no more memory than the counts.
        let near = if u128::from(window) <= DENSE.min(SHORT * items).max(items / 2) {
            Near::Dense(Window::new(counts.counts, ceiling, least, index(window)))
        } else {
            let floor = i128::from(ceiling) - i128::from(window);
            Near::Sparse { entries: sorted(counts.counts, floor), floor }
        };
        Self { counts, top, top_positions, least, near, all: OnceCell::new() }
    }

    /// Number of items.
    pub(in crate::top_k) fn items(&self) -> u64 {
        self.counts.items()
    }

    /// The difference between the largest count and the smallest.
    pub(in crate::top_k) fn range(&self) -> u128 {
        let least = if self.counts.unseen > 0 || self.counts.counts.is_empty() { 0 } else { self.least };
        self.top.first().map_or(0, |most| most.abs_diff(least).into())
    }

    /// The count at one of the ranks that were kept.
    pub(in crate::top_k) fn top(&self) -> &[i64] {
        &self.top
    }

    /// How many items have a count of at least `threshold`.
    pub(in crate::top_k) fn at_least(&self, threshold: i128) -> u64 {
        let unseen = if threshold <= 0 { self.counts.unseen } else { 0 };
        self.listed_at_least(threshold) + unseen
    }

    /// For each of the largest counts, descending, how many items have a count of at least that less `level`.
    ///
    /// As [`RankedCounts::at_least`] for each, without its searches: the thresholds fall, so one pointer into the largest
    /// counts serves those above the last of them, and the table nearly all others.
    pub(in crate::top_k) fn at_least_below_top(&self, level: u128) -> impl Iterator<Item = u64> {
        let table = match &self.near {
            Near::Dense(window) if self.counts.unseen == 0 && level <= MAX_COUNT.unsigned_abs().into() => {
                window.cumulative()
            }
            Near::Dense(_) | Near::Sparse { .. } => &[],
        };
        // Otherwise: nothing is asked for.
        let ceiling = self.top.last().copied().unwrap_or(0);
        // Used where there is a table, for levels of 62 bits.
        let lowered: i64 = clipped(level);
        let mut above = 0;
        self.top.iter().map(move |count| {
            // Counts and such levels are at most 2^62, so this stays within 64 bits; below the table it is looked up.
            let threshold = if table.is_empty() { i64::MIN } else { count - lowered };
            if threshold > ceiling {
                while self.top[above] >= threshold {
                    above += 1;
                }
                return above as u64;
            }
            let known = usize::try_from(ceiling.abs_diff(threshold)).ok().and_then(|below| table.get(below));
            known.copied().unwrap_or_else(|| self.at_least(i128::from(*count).saturating_sub_unsigned(level)))
        })
    }

    fn listed_at_least(&self, threshold: i128) -> u64 {
        let listed = self.counts.counts.len();
        if threshold <= i128::from(self.least) {
            return listed as u64;
        }
        match &self.near {
            Near::Dense(window) => {
                let seen = &self.top[..self.top.len().min(listed)];
                let Some(ceiling) = seen.last() else { return 0 };
                let below = i128::from(*ceiling) - threshold;
                if below < 0 {
                    return seen.partition_point(|count| i128::from(*count) >= threshold) as u64;
                }
                let known = usize::try_from(below).ok().and_then(|below| window.cumulative().get(below));
                known.copied().unwrap_or_else(|| position_below(self.all(), threshold))
            }
            Near::Sparse { entries, floor } if threshold >= *floor => position_below(entries, threshold),
            Near::Sparse { .. } => position_below(self.all(), threshold),
        }
    }

    /// The count at a rank below the number of items.
    pub(in crate::top_k) fn count_at(&self, rank: u64) -> i64 {
        let index = index(rank);
        if let Some(count) = self.top.get(index) {
            return *count;
        }
        // With unseen items no count is negative, so these come last.
        if index >= self.counts.counts.len() {
            return 0;
        }
        let known = match &self.near {
            Near::Dense(window) => window.count_at(rank),
            Near::Sparse { entries, .. } => entries.get(index).map(|(Reverse(count), _)| *count),
        };
        known.unwrap_or_else(|| self.all()[index].0.0)
    }

    /// Where the items of these ranks are.
    pub(in crate::top_k) fn places(&self, ranks: &[u64]) -> Vec<Place> {
        match self.counts.digests {
            None => ranks.iter().map(|rank| self.place_by_position(*rank)).collect(),
            Some(digests) => self.places_by_digest(ranks, digests),
        }
    }

    /// Items of equal count are in order of position.
    fn place_by_position(&self, rank: u64) -> Place {
        let index = index(rank);
        if index >= self.counts.counts.len() {
            return Place::Unseen;
        }
        if let Some(position) = self.top_positions.get(index) {
            return Place::Listed(*position);
        }
        let known = match &self.near {
            Near::Dense(window) => window.position(self.counts.counts, rank),
            Near::Sparse { entries, .. } => entries.get(index).map(|(_, position)| *position),
        };
        Place::Listed(known.unwrap_or_else(|| self.all()[index].1))
    }

    /// Items of equal count are in order of their digests.
    fn places_by_digest(&self, ranks: &[u64], digests: &[Digest]) -> Vec<Place> {
        let listed = self.counts.counts.len() as u64;
        let mut alike: HashMap<i64, Vec<(Digest, usize)>> =
            ranks.iter().filter(|rank| **rank < listed).map(|rank| (self.count_at(*rank), vec![])).collect();
        for (position, count) in self.counts.counts.iter().enumerate() {
            if let Some(alike) = alike.get_mut(count) {
                alike.push((digests[position], position));
            }
        }
        for alike in alike.values_mut() {
            alike.sort_unstable();
        }
        let place = |rank: &u64| {
            let count = self.count_at(*rank);
            let before = self.listed_at_least(i128::from(count) + 1);
            let ordinal = usize::try_from(rank.checked_sub(before)?).ok()?;
            alike.get(&count)?.get(ordinal).map(|(_, position)| Place::Listed(*position))
        };
        // Otherwise: the rank is beyond the listed items.
        ranks.iter().map(|rank| place(rank).unwrap_or(Place::Unseen)).collect()
    }

    fn all(&self) -> &[Entry] {
        self.all.get_or_init(|| sorted(self.counts.counts, i128::MIN))
    }
}

/// How many of the sorted counts are at least `threshold`.
fn position_below(sorted: &[Entry], threshold: i128) -> u64 {
    sorted.partition_point(|(Reverse(count), _)| i128::from(*count) >= threshold) as u64
}

/// The counts that are at least `floor`, sorted.
fn sorted(counts: &[i64], floor: i128) -> Vec<Entry> {
    let entries = counts.iter().enumerate().map(|(position, count)| (Reverse(*count), position));
    let mut sorted: Vec<Entry> = entries.filter(|(Reverse(count), _)| i128::from(*count) >= floor).collect();
    sorted.sort_unstable();
    sorted
}

/// The `keep` largest counts, and the smallest count of all.
fn largest(counts: &[i64], keep: usize) -> (Vec<Entry>, i64) {
    /// Counts that are compared at once.
    const BLOCK: usize = 32;
    let room = (2 * keep).max(1024);
    let mut top: Vec<Entry> = Vec::with_capacity(room.min(counts.len()));
    // Otherwise: there are no counts.
    let (mut bar, mut least) = (None, counts.first().copied().unwrap_or(0));
    for (block, start) in counts.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        // Negative if some count is above the bar or below the least one: subtractions only, whose sign holds, or errs
        // towards a closer look, for counts between -2^62 and 2^62.
        let suspect = |bar: i64| {
            block.iter().fold(0, |bits, count| bits | bar.wrapping_sub(*count) | count.wrapping_sub(least))
        };
        if bar.is_some_and(|bar| suspect(bar) >= 0) {
            continue;
        }
        for (count, position) in block.iter().zip(start..) {
            least = least.min(*count);
            if bar.is_some_and(|bar| *count <= bar) {
                continue;
            }
            top.push((Reverse(*count), position));
            if top.len() == room {
                top.select_nth_unstable(keep - 1);
                top.truncate(keep);
                bar = Some(top[keep - 1].0.0);
            }
        }
    }
    top.sort_unstable();
    top.truncate(keep);
    (top, least)
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "test arguments are in range")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranking(counts: &[i64], unseen: u64, keep: usize, horizon: u128) -> RankedCounts<'_> {
        RankedCounts::new(Counts { counts, digests: None, unseen }, keep, horizon)
    }

    proptest! {
        #[test]
        fn ranks_agree_with_a_sort(
            listed in prop::collection::vec(0..40_i64, 1..60), unseen in 0..5_u64, keep in 1..70_usize, horizon in 0..50_u128,
            scale in prop::sample::select(vec![1_i64, 100_000, 1 << 55]),
        ) {
            let counts: Vec<i64> = listed.iter().map(|c| c * scale).collect();
            let ranking = ranking(&counts, unseen, keep.min(counts.len() + unseen as usize), horizon * scale as u128);
            let mut order: Vec<usize> = (0..counts.len()).collect();
            order.sort_by_key(|i| (-counts[*i], *i));
            let mut all: Vec<i64> = order.iter().map(|i| counts[*i]).collect();
            all.resize(all.len() + unseen as usize, 0);
            prop_assert_eq!(ranking.items(), all.len() as u64);
            for threshold in -2..42_i128 {
                let threshold = threshold * i128::from(scale);
                let expected = all.iter().filter(|c| i128::from(**c) >= threshold).count() as u64;
                prop_assert_eq!(ranking.at_least(threshold), expected);
            }
            for level in 0..45_u128 {
                let level = level * u128::try_from(scale).unwrap();
                let below: Vec<u64> = ranking.at_least_below_top(level).collect();
                let level = i128::try_from(level).unwrap();
                let expected: Vec<u64> =
                    ranking.top().iter().map(|c| ranking.at_least(i128::from(*c) - level)).collect();
                prop_assert_eq!(below, expected);
            }
            let ranks: Vec<u64> = (0..all.len() as u64).rev().collect();
            for (rank, place) in ranks.iter().zip(ranking.places(&ranks)) {
                prop_assert_eq!(ranking.count_at(*rank), all[*rank as usize]);
                let expected = order.get(*rank as usize).map_or(Place::Unseen, |i| Place::Listed(*i));
                prop_assert_eq!(place, expected);
            }
        }
    }

    #[test]
    fn equal_counts_are_ordered_by_digest() {
        let digests = [Digest(7), Digest(3), Digest(5)];
        let counts = Counts { counts: &[4, 4, 4], digests: Some(&digests), unseen: 0 };
        let ranking = RankedCounts::new(counts, 2, 10);
        assert_eq!(ranking.places(&[0, 2, 1]), [1, 0, 2].map(Place::Listed));
    }
}
