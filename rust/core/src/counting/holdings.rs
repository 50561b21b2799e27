//! What users hold, kept from before the selection, and the noisy numbers of users of the released items.

use super::noise::{CountNoise, each_contribution};
use crate::Result;
use crate::accounting::L0Bound;
use crate::contributions::{Contributions, ItemCode};
use crate::noise::{NoisyThreshold, Threshold};
use crate::numeric::UNIT;
use crate::random::{Digest, Purpose, ReleaseKey, Words};
use crate::runtime::{Control, parallel};

/// An item whose users are counted: its digest, and its code if some user holds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) digest: Digest,
    pub(crate) code: Option<ItemCode>,
}

/// The distinct items of each user, before any of them was removed or left out.
#[derive(Debug)]
pub(crate) struct Holdings {
    starts: Vec<usize>,
    lens: Vec<u32>,
    items: Vec<u32>,
    codes: usize,
}

/// No position in the list of counted items.
const NOT_COUNTED: u32 = u32::MAX;
const STAGE: &str = "counting the users of released items";

impl Holdings {
    /// Keep the items of all users.
    ///
    /// # Errors
    /// The limit of memory.
    pub(crate) fn of(contributions: &Contributions, control: &Control) -> Result<Self> {
        let rows: usize = contributions.lens.iter().map(|len| *len as usize).sum();
        let bytes =
            rows * size_of::<u32>() + contributions.lens.len() * (size_of::<usize>() + size_of::<u32>());
        control.charge_memory(bytes as u64, STAGE)?;
        let (mut starts, mut items) =
            (Vec::with_capacity(contributions.lens.len()), Vec::with_capacity(rows));
        for (start, len) in contributions.starts.iter().zip(&contributions.lens) {
            starts.push(items.len());
            items.extend_from_slice(&contributions.items.as_slice()[*start..][..*len as usize]);
        }
        let codes = contributions.vocabulary.code_bound();
        Ok(Self { starts, lens: contributions.lens.clone(), items, codes })
    }

    /// The noisy numbers of users of these items, each to the nearest whole number.
    ///
    /// # Contract
    /// One user more changes the exact sums by a vector of L2 norm at most the root of
    /// `max_counted_items`, whatever the items are.
    /// The noise of an item depends on the key and its digest alone.
    ///
    /// # Errors
    /// Interruption; the limit of memory.
    pub(crate) fn noisy_users(
        &self,
        items: &[Counted],
        noise: &CountNoise,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Vec<i64>> {
        let sums = self.sums(items, noise.max_counted_items, control)?;
        control.check()?;
        let sums = items.iter().zip(sums).map(|(item, sum)| (item.digest, sum));
        Ok(noise.noisy_users(sums, key))
    }

    /// The sum of what all users add to each item, in grid steps.
    fn sums(&self, items: &[Counted], limit: L0Bound, control: &Control) -> Result<Vec<u64>> {
        let threads = parallel::threads_for(self.items.len(), control);
        let ends = parallel::balanced_ends(self.lens.iter().copied(), threads);
        let bytes = self.codes * size_of::<u32>() + threads * items.len() * size_of::<u64>();
        control.charge_memory(bytes as u64, STAGE)?;
        let mut places = vec![NOT_COUNTED; self.codes];
        for (place, item) in (0_u32..).zip(items) {
            if let Some(code) = item.code {
                places[code.index()] = place;
            }
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let ranges = starts.zip(&ends).map(|(start, end)| start..*end).collect();
        let parts = parallel::map(threads, ranges, |users: std::ops::Range<usize>| {
            let mut sums = vec![0_u64; items.len()];
            users.for_each(|user| self.add(user, &places, limit, &mut sums));
            sums
        });
        let mut sums = vec![0_u64; items.len()];
        for part in parts {
            // At most 2^32 users of one unit each.
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.saturating_add(part));
        }
        control.release_memory(bytes as u64);
        Ok(sums)
    }

    /// Add one user to the sums of the counted items that it holds.
    fn add(&self, user: usize, places: &[u32], limit: L0Bound, sums: &mut [u64]) {
        let held = &self.items[self.starts[user]..][..self.lens[user] as usize];
        let place = |item: u32| Some(places[item as usize]).filter(|place| *place != NOT_COUNTED);
        each_contribution(held, place, limit, |place, each| {
            sums[place as usize] = sums[place as usize].saturating_add(each);
        });
    }
}

impl CountNoise {
    /// The noisy numbers of users of items, given the sum of what all users add to each, to the nearest whole number.
    ///
    /// # Contract
    /// The noise of an item depends on the key and its digest alone.
    pub(crate) fn noisy_users(
        &self,
        sums: impl Iterator<Item = (Digest, u64)>,
        key: &ReleaseKey,
    ) -> Vec<i64> {
        let words = Words::new(key, Purpose::Counts, 0);
        let law = NoisyThreshold::new(self.noise, Threshold::from_steps(0));
        sums.map(|(item, sum)| rounded(law.noisy_weight(sum, words.word(item)))).collect()
    }
}

/// A noisy number in grid steps to the nearest whole number of users.
#[expect(clippy::cast_possible_truncation, reason = "a 2^30th of an i64")]
fn rounded(steps: i64) -> i64 {
    (i128::from(steps) + i128::from(UNIT / 2)).div_euclid(i128::from(UNIT)) as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Paid;
    use super::*;
    use crate::contributions::testing::contributions;

    fn key(byte: u8) -> ReleaseKey {
        ReleaseKey::insecure_test([byte; 32])
    }

    fn limit(items: u64) -> L0Bound {
        L0Bound::new(items).unwrap()
    }

    /// The codes of all items that users hold.
    fn codes(made: &Contributions) -> Vec<ItemCode> {
        let of_user =
            |(start, len): (&usize, &u32)| made.items.as_slice()[*start..][..*len as usize].to_vec();
        let held: std::collections::BTreeSet<u32> =
            made.starts.iter().zip(&made.lens).flat_map(of_user).collect();
        held.into_iter().map(ItemCode).collect()
    }

    /// The items of the rows, all of them counted, and what users hold.
    fn all(rows: &[(u64, u64)], key: &ReleaseKey) -> (Vec<Counted>, Holdings) {
        let made = contributions(rows, key);
        let digests = made.vocabulary.digests();
        let counted = |code| Counted { digest: digests.get(code), code: Some(code) };
        let control = Control::new(None, None);
        let mut items: Vec<Counted> = codes(&made).into_iter().map(counted).collect();
        items.sort_unstable_by_key(|item| item.digest.0);
        (items, Holdings::of(&made, &control).unwrap())
    }

    fn sums(rows: &[(u64, u64)], items: u64) -> Vec<u64> {
        let (counted, holdings) = all(rows, &key(1));
        holdings.sums(&counted, limit(items), &Control::new(None, None)).unwrap()
    }

    #[test]
    fn users_count_once_and_less_beyond_the_limit() {
        let rows = [(1, 1), (1, 1), (2, 1), (3, 1), (3, 2), (3, 3), (3, 4)];
        let mut found = sums(&rows, 4);
        found.sort_unstable();
        assert_eq!(found, [UNIT, UNIT, UNIT, 3 * UNIT]);
        let mut scaled = sums(&rows, 1);
        scaled.sort_unstable();
        assert_eq!(scaled, [UNIT / 2, UNIT / 2, UNIT / 2, 2 * UNIT + UNIT / 2]);
    }

    proptest! {
        /// One user more: no count falls, and the squares of the changes add up to at most the limit.
        #[test]
        fn one_user_moves_the_sums_by_its_norm(
            rows in prop::collection::vec((0_u64..9, 0_u64..12), 1..60), items in 1_u64..6,
        ) {
            let (counted, holdings) = all(&rows, &key(2));
            let others: Vec<(u64, u64)> = rows.iter().copied().filter(|(user, _)| *user != 3).collect();
            let without = contributions(&others, &key(2));
            let digests = without.vocabulary.digests();
            let held = codes(&without);
            let code = |digest| held.iter().copied().find(|item| digests.get(*item) == digest);
            let fewer: Vec<Counted> =
                counted.iter().map(|item| Counted { code: code(item.digest), ..*item }).collect();
            let control = Control::new(None, None);
            let before = Holdings::of(&without, &control).unwrap().sums(&fewer, limit(items), &control).unwrap();
            let after = holdings.sums(&counted, limit(items), &control).unwrap();
            let moved = before.iter().zip(&after).map(|(before, after)| {
                u128::from(after.checked_sub(*before).expect("no count falls"))
            });
            let unit = u128::from(UNIT);
            prop_assert!(moved.map(|change| change * change).sum::<u128>() <= unit * unit * u128::from(items));
        }
    }

    #[test]
    fn noise_is_of_the_item_and_items_that_nobody_holds_have_noise_too() {
        let noise = CountNoise::new(0.01, limit(2), Paid::Apart).unwrap();
        let rows: Vec<(u64, u64)> = (0..400).map(|n| (n / 2, n % 2)).collect();
        let (mut counted, holdings) = all(&rows, &key(3));
        let control = Control::new(None, None);
        let of = |items: &[Counted]| holdings.noisy_users(items, &noise, &key(3), &control).unwrap();
        let first = of(&counted);
        counted.reverse();
        counted.push(Counted { digest: Digest(77), code: None });
        let second = of(&counted);
        assert_eq!(second[..2], [first[1], first[0]]);
        assert!(first.iter().all(|users| *users != 200) && second[2] != 0);
        let other = holdings.noisy_users(&counted, &noise, &key(4), &control).unwrap();
        assert_ne!(other, second);
    }

    #[test]
    fn whole_numbers_are_the_nearest() {
        let (one, half) = (UNIT.cast_signed(), UNIT.cast_signed() / 2);
        let steps = [0, half - 1, half, one, -half, -half - 1, i64::MAX, i64::MIN];
        assert_eq!(steps.map(rounded), [0, 0, 1, 1, 0, -1, 1 << 33, -(1 << 33)]);
    }
}
