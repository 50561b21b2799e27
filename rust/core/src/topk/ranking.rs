//! The counts in descending order, as far as they are needed: no sort of all items.
//!
//! An item is known by its rank from 0; items of equal count are in an order that depends on the items alone. What
//! the mechanisms ask is how many items have at least some count.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::random::Digest;
use crate::{Error, Result};

/// The largest count, and the negative of the smallest.
pub const MAX_COUNT: i64 = 1 << 62;
/// Items that may be in a domain.
pub const MAX_ITEMS: u64 = 1 << 52;

/// The counts of one release.
#[derive(Debug, Clone, Copy)]
pub struct Counts<'a> {
    /// The count of each listed item.
    pub counts: &'a [i64],
    /// What orders items of equal count; by position if there is none.
    pub digests: Option<&'a [Digest]>,
    /// Further items of the domain that nobody holds. All counts are at least 0 then.
    pub unseen: u64,
}

impl Counts<'_> {
    /// Number of items.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.counts.len() as u64 + self.unseen
    }

    /// Check the counts.
    ///
    /// # Errors
    /// [`Error::Data`] for a count out of range, [`Error::InvalidParameter`] for too large a domain.
    pub fn validate(self) -> Result<Self> {
        let least = if self.unseen > 0 { 0 } else { -MAX_COUNT };
        // Whether the two highest bits of some count differ, or its sign is set where it must not be: no branches.
        let suspect =
            self.counts.iter().fold(0, |bits, c| bits | (c ^ (c << 1)) | if least == 0 { *c } else { 0 });
        if suspect < 0
            && let Some(position) = self.counts.iter().position(|c| !(least..=MAX_COUNT).contains(c))
        {
            let what = if least == 0 {
                format!("the count at position {position} is negative or above 2^62, and domain= is a size")
            } else {
                format!("the count at position {position} is not between -2^62 and 2^62")
            };
            return Err(Error::Data { source_name: "counts".into(), what, fix: "give counts of users" });
        }
        if self.items() > MAX_ITEMS {
            let fix = "give the number of items that could be named";
            return Err(Error::parameter("domain", "at most 2^52 items", self.items(), fix));
        }
        Ok(self)
    }
}

/// Where the items of some ranks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At this position of the counts.
    Listed(usize),
    /// Among the unseen items.
    Unseen,
}

/// The counts by rank.
#[derive(Debug)]
pub(super) struct Ranking<'a> {
    counts: Counts<'a>,
    /// The largest counts, descending.
    top: Vec<i64>,
    near: Near,
    /// All listed counts, descending. Made only when a draw goes beyond the horizon.
    all: OnceCell<Vec<i64>>,
}

/// The counts below the largest ones, down to the horizon.
#[derive(Debug)]
enum Near {
    /// `cumulative[x]` listed items have at least the last of the top counts less x.
    Dense(Vec<u64>),
    /// Those counts descending, the top ones included, and the least one that is complete.
    Sparse { counts: Vec<i64>, floor: i128 },
}

/// Windows up to this length are always tabulated.
const DENSE: u128 = 1 << 16;

impl<'a> Ranking<'a> {
    /// The `keep` largest counts, and the counts less than `horizon` levels below the last of these.
    pub(super) fn new(counts: Counts<'a>, keep: usize, horizon: u128) -> Self {
        let (mut top, least) = largest(counts.counts, keep);
        let missing = u128::from(counts.unseen).min((keep - top.len()) as u128);
        let ceiling = top.last().copied().unwrap_or(0);
        top.resize(top.len() + usize::try_from(missing).unwrap_or(0), 0);
        let depth = (i128::from(ceiling) - i128::from(least)).unsigned_abs();
        let window = horizon.min(depth);
        let near = if window <= DENSE.max(counts.counts.len() as u128 / 2) {
            Near::Dense(cumulative(counts.counts, ceiling, usize::try_from(window).unwrap_or(0)))
        } else {
            let floor = i128::from(ceiling) - i128::try_from(window).unwrap_or(i128::MAX);
            let mut near: Vec<i64> =
                counts.counts.iter().copied().filter(|c| i128::from(*c) >= floor).collect();
            near.sort_unstable_by(|a, b| b.cmp(a));
            Near::Sparse { counts: near, floor }
        };
        Self { counts, top, near, all: OnceCell::new() }
    }

    /// Number of items.
    pub(super) fn items(&self) -> u64 {
        self.counts.items()
    }

    /// The count at one of the ranks that were kept.
    pub(super) fn top(&self) -> &[i64] {
        &self.top
    }

    /// How many items have a count of at least `threshold`.
    pub(super) fn at_least(&self, threshold: i128) -> u64 {
        let unseen = if threshold <= 0 { self.counts.unseen } else { 0 };
        self.listed_at_least(threshold) + unseen
    }

    /// For each of the largest counts, descending, how many items have a count of at least that less `level`.
    ///
    /// As [`Ranking::at_least`] for each, without its searches: the thresholds fall, so one pointer into the largest counts
    /// serves those above the last of them, and the table nearly all others.
    pub(super) fn at_least_below_top(&self, level: u128) -> impl Iterator<Item = u64> {
        let table = match &self.near {
            Near::Dense(table) if self.counts.unseen == 0 && level <= MAX_COUNT.unsigned_abs().into() => {
                table.as_slice()
            }
            _ => &[],
        };
        let ceiling = self.top.last().copied().unwrap_or(0);
        let lowered = i64::try_from(level).unwrap_or(0);
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
            known.copied().unwrap_or_else(|| {
                self.at_least(i128::from(*count).saturating_sub(i128::try_from(level).unwrap_or(i128::MAX)))
            })
        })
    }

    fn listed_at_least(&self, threshold: i128) -> u64 {
        match &self.near {
            Near::Dense(cumulative) => {
                let seen = self.top.len().min(self.counts.counts.len());
                let Some(ceiling) = self.top[..seen].last() else { return 0 };
                let below = i128::from(*ceiling) - threshold;
                if below < 0 {
                    return position_below(&self.top[..seen], threshold);
                }
                let known = usize::try_from(below).ok().and_then(|below| cumulative.get(below));
                known.copied().unwrap_or_else(|| position_below(self.all(), threshold))
            }
            Near::Sparse { counts, floor } if threshold >= *floor => position_below(counts, threshold),
            Near::Sparse { .. } => position_below(self.all(), threshold),
        }
    }

    /// The count at a rank below the number of items.
    pub(super) fn count_at(&self, rank: u64) -> i64 {
        let index = usize::try_from(rank).unwrap_or(usize::MAX);
        if let Some(count) = self.top.get(index) {
            return *count;
        }
        // With unseen items no count is negative, so these come last.
        if rank >= self.counts.counts.len() as u64 {
            return 0;
        }
        match &self.near {
            Near::Dense(cumulative) if cumulative.last().is_some_and(|last| rank < *last) => {
                let below = cumulative.partition_point(|n| *n <= rank);
                self.top.last().map_or(0, |ceiling| ceiling - i64::try_from(below).unwrap_or(0))
            }
            Near::Sparse { counts, .. } if index < counts.len() => counts[index],
            _ => self.all()[index],
        }
    }

    /// Where the items of these ranks are.
    pub(super) fn places(&self, ranks: &[u64]) -> Vec<Place> {
        let listed = self.counts.counts.len() as u64;
        let mut wanted: HashMap<i64, Vec<(u64, usize)>> = HashMap::new();
        for (index, rank) in ranks.iter().enumerate().filter(|(_, rank)| **rank < listed) {
            let count = self.count_at(*rank);
            let before = self.listed_at_least(i128::from(count) + 1);
            wanted.entry(count).or_default().push((rank - before, index));
        }
        let mut places = vec![Place::Unseen; ranks.len()];
        match self.counts.digests {
            None => self.place_by_position(wanted, &mut places),
            Some(digests) => self.place_by_digest(&wanted, digests, &mut places),
        }
        places
    }

    /// The n-th item with a count is the n-th in order of position.
    fn place_by_position(&self, wanted: HashMap<i64, Vec<(u64, usize)>>, places: &mut [Place]) {
        let mut finder = Finder::new(wanted);
        for (position, count) in self.counts.counts.iter().enumerate() {
            if finder.missing == 0 {
                break;
            }
            finder.see(*count, |index| places[index] = Place::Listed(position));
        }
    }

    /// The n-th item with a count is the one with the n-th smallest digest.
    fn place_by_digest(
        &self,
        wanted: &HashMap<i64, Vec<(u64, usize)>>,
        digests: &[Digest],
        places: &mut [Place],
    ) {
        let mut alike: HashMap<i64, Vec<(Digest, usize)>> = HashMap::new();
        for (position, count) in self.counts.counts.iter().enumerate() {
            if wanted.contains_key(count) {
                alike.entry(*count).or_default().push((digests[position], position));
            }
        }
        for (count, wanted) in wanted {
            let Some(alike) = alike.get_mut(count) else { continue };
            alike.sort_unstable();
            for (ordinal, index) in wanted {
                let item = usize::try_from(*ordinal).ok().and_then(|ordinal| alike.get(ordinal));
                places[*index] = item.map_or(Place::Unseen, |(_, position)| Place::Listed(*position));
            }
        }
    }

    fn all(&self) -> &[i64] {
        self.all.get_or_init(|| {
            let mut all = self.counts.counts.to_vec();
            all.sort_unstable_by(|a, b| b.cmp(a));
            all
        })
    }
}

/// Finds the n-th occurrences of counts in one pass.
struct Finder {
    /// For counts near `ceiling`, where in `wanted` they are (0 is nowhere): a look-up that costs no hash.
    near: Vec<u32>,
    ceiling: i64,
    far: HashMap<i64, u32>,
    /// Per count: occurrences so far, and (ordinal, index) in descending order.
    wanted: Vec<(u64, Vec<(u64, usize)>)>,
    missing: usize,
}

impl Finder {
    fn new(wanted: HashMap<i64, Vec<(u64, usize)>>) -> Self {
        const NEAR: u64 = 1 << 14;
        let missing = wanted.values().map(Vec::len).sum();
        let least = wanted.keys().min().copied().unwrap_or(0);
        let most = wanted.keys().max().copied().unwrap_or(0);
        let ceiling = if most.abs_diff(least) < NEAR { most } else { least + (NEAR - 1).cast_signed() };
        let mut finder = Self {
            near: vec![0; usize::try_from(ceiling.abs_diff(least)).unwrap_or(0) + 1],
            ceiling,
            far: HashMap::new(),
            wanted: vec![(0, vec![])],
            missing,
        };
        for (count, mut ordinals) in wanted {
            ordinals.sort_unstable_by(|a, b| b.cmp(a));
            let number = u32::try_from(finder.wanted.len()).unwrap_or(u32::MAX);
            finder.wanted.push((0, ordinals));
            if count <= ceiling {
                finder.near[usize::try_from(ceiling.abs_diff(count)).unwrap_or(0)] = number;
            } else {
                finder.far.insert(count, number);
            }
        }
        finder
    }

    /// Look at the next count; `found` is called with each index whose item it is.
    #[inline]
    fn see(&mut self, count: i64, found: impl FnMut(usize)) {
        let number = if count > self.ceiling {
            if self.far.is_empty() { 0 } else { self.far.get(&count).copied().unwrap_or(0) }
        } else {
            let below = usize::try_from(self.ceiling.abs_diff(count)).unwrap_or(usize::MAX);
            self.near.get(below).copied().unwrap_or(0)
        };
        if number > 0 {
            self.count(number, found);
        }
    }

    fn count(&mut self, number: u32, mut found: impl FnMut(usize)) {
        let (seen, ordinals) = &mut self.wanted[number as usize];
        while let Some((ordinal, index)) = ordinals.last().copied()
            && ordinal == *seen
        {
            found(index);
            ordinals.pop();
            self.missing -= 1;
        }
        *seen += 1;
    }
}

/// How many of the descending counts are at least `threshold`.
fn position_below(descending: &[i64], threshold: i128) -> u64 {
    descending.partition_point(|count| i128::from(*count) >= threshold) as u64
}

/// The `keep` largest counts, descending, and the smallest count of all.
fn largest(counts: &[i64], keep: usize) -> (Vec<i64>, i64) {
    let room = (2 * keep).max(1024);
    let mut top: Vec<i64> = Vec::with_capacity(room.min(counts.len()));
    let (mut bar, mut least) = (i64::MIN, i64::MAX);
    for &count in counts {
        least = least.min(count);
        if count > bar || top.len() < keep {
            top.push(count);
            if top.len() == room {
                top.select_nth_unstable_by(keep - 1, |a, b| b.cmp(a));
                top.truncate(keep);
                bar = top[keep - 1];
            }
        }
    }
    top.sort_unstable_by(|a, b| b.cmp(a));
    top.truncate(keep);
    (top, least.min(counts.first().copied().unwrap_or(0)))
}

/// Item x: how many counts are at least `ceiling` - x, for x up to `window`.
fn cumulative(counts: &[i64], ceiling: i64, window: usize) -> Vec<u64> {
    let floor = ceiling - i64::try_from(window).unwrap_or(0);
    // Most counts are often alike, and adding to one place again and again waits for itself: so there are two tables.
    let mut tables = [vec![0_u64; window + 1], vec![0_u64; window + 1]];
    for pair in counts.chunks(2) {
        for (count, table) in pair.iter().zip(&mut tables) {
            if *count >= floor {
                let below = ceiling.abs_diff((*count).min(ceiling));
                table[usize::try_from(below).unwrap_or(0)] += 1;
            }
        }
    }
    let [mut cumulative, other] = tables;
    let mut sum = 0;
    for (count, more) in cumulative.iter_mut().zip(other) {
        sum += *count + more;
        *count = sum;
    }
    cumulative
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "test arguments are in range")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranking(counts: &[i64], unseen: u64, keep: usize, horizon: u128) -> Ranking<'_> {
        Ranking::new(Counts { counts, digests: None, unseen }, keep, horizon)
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
        let ranking = Ranking::new(counts, 2, 10);
        assert_eq!(ranking.places(&[0, 2, 1]), [1, 0, 2].map(Place::Listed));
    }

    #[test]
    fn counts_out_of_range_are_refused() {
        let check = |counts: &[i64], unseen| Counts { counts, digests: None, unseen }.validate().map(|_| ());
        assert!(check(&[MAX_COUNT, -MAX_COUNT], 0).is_ok());
        assert!(matches!(check(&[0, MAX_COUNT + 1], 0), Err(Error::Data { .. })));
        assert!(matches!(check(&[-1], 1), Err(Error::Data { .. })));
        assert!(matches!(check(&[1], MAX_ITEMS), Err(Error::InvalidParameter { .. })));
    }
}
