//! The users of each item: the kept items of all users, turned around.

use dpsel_exact::Result;
use dpsel_rows::runtime::Control;
use dpsel_rows::runtime::memory::Array;

use super::places::Places;
use super::user_number::UserNumber;
use crate::bounding::BoundedContributions;

/// The users who keep each item. Items are numbered by their turns.
#[derive(Debug)]
pub(super) struct Holders<N> {
    /// The users `starts[i]..starts[i + 1]` keep the item `i`.
    starts: Places,
    users: Array<N>,
}

impl<N: UserNumber> Holders<N> {
    /// Turn the kept items around.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn of(
        contributions: &BoundedContributions,
        codes: &[u32],
        counts: Vec<u32>,
        control: &Control,
    ) -> Result<Self> {
        let all = counts.iter().map(|count| *count as usize).sum();
        Self::with_places(contributions, (codes, counts), (all, all), control)
    }

    /// Turn the kept items around. There are `all` of them, and places reach up to `most`.
    fn with_places(
        contributions: &BoundedContributions,
        (codes, counts): (&[u32], Vec<u32>),
        (all, most): (usize, usize),
        control: &Control,
    ) -> Result<Self> {
        let mut next = Places::zeroed(counts.len(), most);
        let mut sum = 0;
        for code in codes {
            let code = *code as usize;
            next.set(code, sum);
            sum += counts[code] as usize;
        }
        drop(counts);
        control.check()?;
        let mut users = Array::zeroed(all);
        let lists = users.as_mut_slice();
        for (user, number) in (0..contributions.users()).zip(0_u32..) {
            for &code in contributions.kept_items(user) {
                let place = next.get(code as usize);
                lists[place] = N::new(number);
                next.set(code as usize, place + 1);
            }
        }
        control.check()?;
        // Each item now ends where the one after it starts.
        let mut starts = Places::zeroed(codes.len() + 1, most);
        for (turn, code) in (1..).zip(codes) {
            starts.set(turn, next.get(*code as usize));
        }
        Ok(Self { starts, users })
    }

    /// The users who keep an item.
    #[inline]
    pub(super) fn users_of(&self, item: u32) -> &[N] {
        let item = item as usize;
        &self.users.as_slice()[self.starts.get(item)..self.starts.get(item + 1)]
    }

    /// Number of items.
    pub(super) fn items(&self) -> usize {
        self.starts.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::L0Bound;
    use dpsel_exact::random::ReleaseKey;
    use dpsel_rows::contributions::testing::contributions;

    use super::super::offers::Offers;
    use super::*;
    use crate::weighting::order::Visits;

    fn each_item_has_its_users<N: UserNumber>(is_wide: bool) {
        let (key, control) = (ReleaseKey::insecure_test([9; 32]), Control::default());
        let rows: Vec<(u64, u64)> = (0..90_000).map(|row| (row * row % 899, row * 7 % 1310)).collect();
        let bound = L0Bound::new(5).unwrap();
        let bounded = BoundedContributions::new(contributions(&rows, &key), bound, &key, &control).unwrap();
        let visits = Visits { contributions: &bounded, key: &key, control: &control };
        let Offers { codes, counts } = Offers::of(visits, None).unwrap();
        let all = counts.iter().sum::<u32>() as usize;
        let most = if is_wide { usize::MAX } else { all };
        let found = Holders::<N>::with_places(&bounded, (&codes, counts), (all, most), &control).unwrap();
        assert_eq!(matches!(found.starts, Places::Wide(_)), is_wide);
        assert_eq!(found.items(), codes.len());
        for (item, code) in (0..).zip(&codes) {
            let of_user = |user: &u32| bounded.kept_items(*user as usize).contains(code);
            let users: Vec<u32> = (0..).take(bounded.users()).filter(of_user).collect();
            assert_eq!(found.users_of(item).iter().map(|user| user.get()).collect::<Vec<_>>(), users);
            assert!(!users.is_empty());
        }
    }

    #[test]
    fn each_item_has_its_users_in_either_width() {
        for is_wide in [false, true] {
            each_item_has_its_users::<u32>(is_wide);
            each_item_has_its_users::<[u8; 3]>(is_wide);
        }
    }
}
