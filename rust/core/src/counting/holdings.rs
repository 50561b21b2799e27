//! What users hold, kept from before the selection, and the noisy numbers of users or rows of the released items.

use std::ops::Range;

use dpsel_exact::Result;
use dpsel_exact::noise::{NoisyThreshold, Threshold};
use dpsel_exact::numeric::widths::{clipped, codes};
use dpsel_exact::random::{Digest, Purpose, ReleaseKey, Words};
use dpsel_rows::contributions::{Contributions, ItemCode};
use dpsel_rows::runtime::{Control, parallel};

use super::limit::{CountLimit, capped};
use super::noise::{CountNoise, rounded};
use super::rest::{RestNoise, RestSums};

/// An item whose users are counted: its digest, and its code if some user holds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedItem {
    pub digest: Digest,
    pub code: Option<ItemCode>,
}

/// The distinct items of each user, before any of them was removed or left out.
#[derive(Debug)]
pub(crate) struct Holdings {
    starts: Vec<usize>,
    lens: Vec<u32>,
    items: Vec<u32>,
    /// The number of rows of each of them, as far as they count; 1 each where users are counted.
    rows: Option<Vec<u32>>,
    codes: usize,
}

/// Rows of a thread for each counted item, at least: each thread has a sum for every item.
const LEAST_ROWS: usize = 4;
/// No position in the list of counted items.
const NOT_COUNTED: u32 = u32::MAX;
const STAGE: &str = "counting the users or rows of released items";

impl Holdings {
    /// Keep the items of all users, each once, and the number of its rows if more than one of them may count.
    ///
    /// # Errors
    /// The limit of memory.
    pub(crate) fn of(contributions: &Contributions, most_rows: u32, control: &Control) -> Result<Self> {
        let held: usize = contributions.lens.iter().map(|len| *len as usize).sum();
        let counts_rows = most_rows > 1;
        let users = contributions.lens.len();
        control.charge_memory(Self::bytes(most_rows, users, held) as u64, STAGE)?;
        let mut made = Self {
            starts: Vec::with_capacity(users),
            lens: Vec::with_capacity(users),
            items: Vec::with_capacity(held),
            rows: counts_rows.then(|| Vec::with_capacity(held)),
            codes: contributions.vocabulary.code_bound(),
        };
        contributions.items_by_user().for_each(|items| made.push(items));
        Ok(made)
    }

    /// Bytes of what so many users hold, at most.
    pub(crate) fn bytes(most_rows: u32, users: usize, held: usize) -> usize {
        let each = size_of::<u32>() * if most_rows > 1 { 2 } else { 1 };
        held * each + users * (size_of::<usize>() + size_of::<u32>())
    }

    /// Bytes that are taken while so many items are counted, at most.
    pub(crate) fn bytes_of_sums(codes: usize, items: usize, held: usize) -> usize {
        codes * size_of::<u32>() + items.max(held / LEAST_ROWS) * size_of::<u64>()
    }

    /// Keep the items of the next user. Rows of one item stand side by side.
    fn push(&mut self, rows: &[u32]) {
        let before = self.items.len();
        for of_item in rows.chunk_by(|a, b| a == b) {
            self.items.push(of_item[0]);
            if let Some(rows) = &mut self.rows {
                rows.push(clipped(of_item.len() as u64));
            }
        }
        self.starts.push(before);
        self.lens.push(codes(self.items.len() - before));
    }

    /// The noisy numbers of users or rows of these items, each to the nearest whole number.
    ///
    /// # Contract
    /// One user more changes the exact sums by a vector of L2 norm at most that of [`CountLimit`], whatever the items are.
    /// The noise of an item depends on the key and its digest alone.
    ///
    /// # Errors
    /// Interruption; the limit of memory.
    pub(crate) fn noisy_counts(
        &self,
        items: &[CountedItem],
        noise: &CountNoise,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Vec<i64>> {
        let sums = self.sums(items, noise.limit(), control)?;
        control.check()?;
        let sums = items.iter().zip(sums).map(|(item, sum)| (item.digest, sum));
        Ok(noise.noisy_counts(sums, key))
    }

    /// The sum of what all users add to each item, in grid steps.
    fn sums(&self, items: &[CountedItem], limit: CountLimit, control: &Control) -> Result<Vec<u64>> {
        let held = self.items.len();
        let threads = parallel::threads_for(held, control).min(held / LEAST_ROWS / items.len().max(1)).max(1);
        let bytes = Self::bytes_of_sums(self.codes, items.len(), held);
        control.charge_memory(bytes as u64, STAGE)?;
        let places = self.places(items);
        let parts = parallel::map(threads, self.ranges(threads), |users: Range<usize>| {
            let mut sums = vec![0_u64; items.len()];
            users.for_each(|user| self.add(user, &places, limit, &mut sums));
            sums
        });
        let mut sums = vec![0_u64; items.len()];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.saturating_add(part));
        }
        control.release_memory(bytes as u64);
        Ok(sums)
    }

    /// How many users have all, some or none of their items among these, and their rows, as far as they count.
    ///
    /// # Errors
    /// Interruption; the limit of memory.
    pub(crate) fn rest(
        &self,
        items: &[CountedItem],
        noise: &RestNoise,
        control: &Control,
    ) -> Result<RestSums> {
        let threads = parallel::threads_for(self.items.len(), control);
        let bytes = (self.codes * size_of::<u32>()) as u64;
        control.charge_memory(bytes, STAGE)?;
        let places = self.places(items);
        let parts = parallel::map(threads, self.ranges(threads), |users: Range<usize>| {
            let mut sums = noise.sums();
            users.for_each(|user| {
                sums.add(self.held(user, &places).map(|(place, rows)| (place != NOT_COUNTED, rows as usize)));
            });
            sums
        });
        let mut sums = noise.sums();
        for part in &parts {
            sums.add_sums(part);
        }
        control.release_memory(bytes);
        control.check()?;
        Ok(sums)
    }

    /// The place of each code in the list of counted items.
    fn places(&self, items: &[CountedItem]) -> Vec<u32> {
        let mut places = vec![NOT_COUNTED; self.codes];
        for (place, item) in (0_u32..).zip(items) {
            if let Some(code) = item.code {
                places[code.index()] = place;
            }
        }
        places
    }

    /// The users of each thread.
    fn ranges(&self, threads: usize) -> Vec<Range<usize>> {
        let ends = parallel::balanced_ends(self.lens.iter().copied(), threads);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, end)| start..*end).collect()
    }

    /// The place and the number of rows of each item of a user.
    fn held(&self, user: usize, places: &[u32]) -> impl Iterator<Item = (u32, u32)> + Clone {
        let held = self.starts[user]..self.starts[user] + self.lens[user] as usize;
        // Otherwise: users are counted, each once.
        held.map(|at| (places[self.items[at] as usize], self.rows.as_ref().map_or(1, |rows| rows[at])))
    }

    /// Add one user to the sums of the counted items that it holds.
    fn add(&self, user: usize, places: &[u32], limit: CountLimit, sums: &mut [u64]) {
        let counted = self.held(user, places).filter(|(place, _)| *place != NOT_COUNTED);
        let counted = counted.map(|(place, rows)| (place, limit.rows(rows as usize)));
        limit.each_addition(counted, |place, more| {
            let sum = &mut sums[place as usize];
            *sum = sum.saturating_add(more);
        });
    }
}

impl CountNoise {
    /// The noisy numbers of users or rows of items, given the saturating sum of what all users add to each, to the nearest
    /// whole number.
    ///
    /// # Contract
    /// The noise of an item depends on the key and its digest alone.
    pub fn noisy_counts(&self, sums: impl Iterator<Item = (Digest, u64)>, key: &ReleaseKey) -> Vec<i64> {
        let words = Words::new(key, Purpose::Counts, 0);
        let law = NoisyThreshold::new(self.noise, Threshold::from_steps(0));
        sums.map(|(item, sum)| rounded(law.noisy_weight(capped(sum), words.word(item)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::L0Bound;
    use dpsel_exact::numeric::UNIT;
    use dpsel_rows::contributions::RowOrder;
    use dpsel_rows::contributions::testing::grouped;
    use proptest::prelude::*;

    use super::super::limit::square;
    use super::super::{CountedUsers, Paid};
    use super::*;

    fn key(byte: u8) -> ReleaseKey {
        ReleaseKey::insecure_test([byte; 32])
    }

    fn limit(items: u64, rows: Option<u32>) -> CountLimit {
        CountLimit::new(L0Bound::new(items).unwrap(), rows)
    }

    /// Rows grouped so that they can be counted.
    fn counted(rows: &[(u64, u64)], key: &ReleaseKey, most: Option<u32>) -> Contributions {
        grouped(rows, key, &most.map_or(RowOrder::Any, |most| RowOrder::Any.with_rows(most)))
    }

    /// The codes of all items that users hold.
    fn codes_of(made: &Contributions) -> Vec<ItemCode> {
        let held: std::collections::BTreeSet<u32> = made.items_by_user().flatten().copied().collect();
        held.into_iter().map(ItemCode).collect()
    }

    /// The items of the rows, all of them counted, and what users hold.
    fn all(rows: &[(u64, u64)], key: &ReleaseKey, most: Option<u32>) -> (Vec<CountedItem>, Holdings) {
        let made = counted(rows, key, most);
        let digests = made.vocabulary.digests();
        let counted = |code| CountedItem { digest: digests.get(code), code: Some(code) };
        let control = Control::new(None, None);
        let mut items: Vec<CountedItem> = codes_of(&made).into_iter().map(counted).collect();
        items.sort_unstable_by_key(|item| item.digest.0);
        (items, Holdings::of(&made, limit(1, most).most_rows(), &control).unwrap())
    }

    /// The sums of all items, in ascending order.
    fn sums(rows: &[(u64, u64)], items: u64, most: Option<u32>) -> Vec<u64> {
        let (counted, holdings) = all(rows, &key(1), most);
        let mut sums = holdings.sums(&counted, limit(items, most), &Control::new(None, None)).unwrap();
        sums.sort_unstable();
        sums
    }

    #[test]
    fn users_count_once_and_less_beyond_the_limit() {
        let rows = [(1, 1), (1, 1), (2, 1), (3, 1), (3, 2), (3, 3), (3, 4)];
        for most in [None, Some(1)] {
            assert_eq!(sums(&rows, 4, most), [UNIT, UNIT, UNIT, 3 * UNIT]);
            assert_eq!(sums(&rows, 1, most), [UNIT / 2, UNIT / 2, UNIT / 2, 2 * UNIT + UNIT / 2]);
        }
    }

    #[test]
    fn rows_count_up_to_their_limit_and_less_beyond_the_norm() {
        // User 1 has five rows of item 1 and two of item 2, user 2 has one of item 1.
        let rows = [(1, 1), (1, 2), (1, 1), (2, 1), (1, 1), (1, 1), (1, 2), (1, 1)];
        assert_eq!(sums(&rows, 2, Some(9)), [2 * UNIT, 6 * UNIT]);
        assert_eq!(sums(&rows, 2, Some(3)), [2 * UNIT, 4 * UNIT]);
        // 3 and 2 in a norm of 3: each row counts the root of 9 / 13.
        let each = u64::try_from((u128::from(UNIT) * u128::from(UNIT) * 9 / 13).isqrt()).unwrap();
        assert_eq!(sums(&rows, 1, Some(3)), [2 * each, UNIT + 3 * each]);
    }

    proptest! {
        /// One user more: no count falls, and the squares of the changes add up to at most the limit.
        #[test]
        fn one_user_moves_the_sums_by_its_norm(
            rows in prop::collection::vec((0_u64..9, 0_u64..12), 1..60), again in 0_usize..400, items in 1_u64..6,
            most in prop::option::of(1_u32..9),
        ) {
            // One user has a row many times over.
            let many = rows.iter().find(|(user, _)| *user == 3).copied();
            let rows: Vec<(u64, u64)> = rows.into_iter().chain(many.into_iter().cycle().take(again)).collect();
            let (counted_items, holdings) = all(&rows, &key(2), most);
            let others: Vec<(u64, u64)> = rows.iter().copied().filter(|(user, _)| *user != 3).collect();
            let without = counted(&others, &key(2), most);
            let digests = without.vocabulary.digests();
            let held = codes_of(&without);
            let code = |digest| held.iter().copied().find(|item| digests.get(*item) == digest);
            let fewer: Vec<CountedItem> =
                counted_items.iter().map(|item| CountedItem { code: code(item.digest), ..*item }).collect();
            let control = Control::new(None, None);
            let without = Holdings::of(&without, limit(items, most).most_rows(), &control).unwrap();
            let before = without.sums(&fewer, limit(items, most), &control).unwrap();
            let after = holdings.sums(&counted_items, limit(items, most), &control).unwrap();
            let moved = before.iter().zip(&after).map(|(before, after)| {
                u128::from(after.checked_sub(*before).expect("no count falls"))
            });
            let largest = u128::from(UNIT) * u128::from(UNIT) * u128::from(items) * square(most.unwrap_or(1));
            prop_assert!(moved.map(|change| change * change).sum::<u128>() <= largest);
        }
    }

    #[test]
    fn noise_is_of_the_item_and_items_that_nobody_holds_have_noise_too() {
        let asked = |items| CountedUsers {
            share: 0.2,
            max_counted_items: L0Bound::new(items).unwrap(),
            nonnegative: false,
            max_rows_per_item: None,
        };
        let noise = CountNoise::new(0.01, &asked(2), Paid::Apart).unwrap();
        let rows: Vec<(u64, u64)> = (0..400).map(|n| (n / 2, n % 2)).collect();
        let (mut counted, holdings) = all(&rows, &key(3), None);
        let control = Control::new(None, None);
        let of = |items: &[CountedItem]| holdings.noisy_counts(items, &noise, &key(3), &control).unwrap();
        let first = of(&counted);
        counted.reverse();
        counted.push(CountedItem { digest: Digest(77), code: None });
        let second = of(&counted);
        assert_eq!(second[..2], [first[1], first[0]]);
        assert!(first.iter().all(|users| *users != 200) && second[2] != 0);
        let other = holdings.noisy_counts(&counted, &noise, &key(4), &control).unwrap();
        assert_ne!(other, second);
    }

    #[test]
    fn sums_never_begin_anew_and_end_where_noise_still_fits() {
        let (_, holdings) = all(&[(1, 1), (1, 1)], &key(1), Some(9));
        let mut sums = vec![u64::MAX - 3];
        holdings.add(0, &vec![0; holdings.codes], limit(1, Some(9)), &mut sums);
        assert_eq!(sums, [u64::MAX]);
        let asked = CountedUsers {
            share: 0.2,
            max_counted_items: L0Bound::new(1).unwrap(),
            nonnegative: false,
            max_rows_per_item: Some(9),
        };
        let noise = CountNoise::new(0.1, &asked, Paid::Apart).unwrap();
        let most = 1_i64 << 32;
        for (item, number) in
            (0..99).zip(noise.noisy_counts((0..99).map(|item| (Digest(item), u64::MAX)), &key(1)))
        {
            assert!((number - most).abs() < 900, "{item}: {number}");
        }
    }

    #[test]
    fn whole_numbers_are_the_nearest() {
        let (one, half) = (UNIT.cast_signed(), UNIT.cast_signed() / 2);
        let steps = [0, half - 1, half, one, -half, -half - 1, i64::MAX, i64::MIN];
        assert_eq!(steps.map(rounded), [0, 0, 1, 1, 0, -1, 1 << 33, -(1 << 33)]);
    }
}
