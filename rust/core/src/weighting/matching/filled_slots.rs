//! What a matching fills, softly: the two sums of the score of a look. Proof: `docs/algorithms/matching_or.md`.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::clipped;

use super::holders::Holders;
use super::offers::Offers;
use super::user_number::{self, UserNumber};
use super::{MatchingSlots, charge};
use crate::weighting::order::Visits;

/// How far items are beyond half a quota, in halves of a quota's slots and holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilledSlots {
    /// Twice the filled slots of each item beyond half of its quota, added up.
    pub filled: i64,
    /// The same of all its holders, up to one and a half quotas.
    pub held: i64,
}

impl MatchingSlots {
    /// What the slots of the quota fill, in the order of digests. Slots beyond it are not offered.
    ///
    /// # Contract
    /// Adding a user raises `filled` by at most 2, and `held` by at most twice its kept items. Neither falls.
    pub(in crate::weighting) fn filled_slots(self, visits: Visits<'_>) -> Result<FilledSlots> {
        let quotas = Self { most: self.quota, ..self };
        let charged = charge(visits)?;
        let offers = Offers::of(visits, None)?;
        let found = if user_number::are_few(visits.contributions.users()) {
            quotas.sums::<[u8; 3]>(visits, offers)?
        } else {
            quotas.sums::<u32>(visits, offers)?
        };
        visits.control.release_memory(charged);
        Ok(found)
    }

    fn sums<N: UserNumber>(
        self,
        visits: Visits<'_>,
        Offers { codes, counts }: Offers,
    ) -> Result<FilledSlots> {
        let holders = Holders::<N>::of(visits.contributions, &codes, counts, visits.control)?;
        drop(codes);
        let mut levels = vec![0_u32; holders.items()];
        for turn in self.assign(visits, &holders)? {
            levels[turn as usize] += 1;
        }
        let quota = i64::from(self.quota);
        let beyond = |users: i64| (2 * users - quota).clamp(0, 2 * quota);
        let mut sums = FilledSlots::default();
        for (level, turn) in levels.iter().zip(0_u32..) {
            sums.filled += beyond((*level).into());
            let users: u32 = clipped(holders.users_of(turn).len());
            sums.held += beyond(users.into());
        }
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::L0Bound;
    use dpsel_exact::random::ReleaseKey;
    use dpsel_rows::contributions::testing::contributions;
    use dpsel_rows::runtime::Control;

    use super::*;
    use crate::bounding::BoundedContributions;

    fn found(rows: &[(u64, u64)], quota: u32) -> FilledSlots {
        let (key, control) = (ReleaseKey::insecure_test([9; 32]), Control::default());
        let bound = L0Bound::new(5).unwrap();
        let bounded = BoundedContributions::new(contributions(rows, &key), bound, &key, &control).unwrap();
        let visits = Visits { contributions: &bounded, key: &key, control: &control };
        // Slots beyond the quota do not count.
        MatchingSlots { quota, most: 7 * quota }.filled_slots(visits).unwrap()
    }

    #[test]
    fn items_count_from_half_a_quota_on_and_holders_up_to_one_and_a_half() {
        // So many users of an item that nobody else has, for a quota of 4.
        for (users, filled, held) in
            [(0, 0, 0), (2, 0, 0), (3, 2, 2), (4, 4, 4), (5, 4, 6), (6, 4, 8), (60, 4, 8)]
        {
            let rows: Vec<(u64, u64)> = (0..users).map(|user| (user, 1)).collect();
            assert_eq!(found(&rows, 4), FilledSlots { filled, held }, "{users}");
        }
    }

    #[test]
    fn a_user_of_many_items_fills_one_slot_and_holds_all() {
        let rows: Vec<(u64, u64)> = (0..5).flat_map(|item| (0..4).map(move |user| (user, item))).collect();
        assert_eq!(found(&rows, 4), FilledSlots { filled: 4, held: 20 });
        assert_eq!(found(&rows, 1), FilledSlots { filled: 4, held: 10 });
        assert_eq!(found(&[], 4), FilledSlots::default());
    }

    #[test]
    fn numbers_of_either_width_give_the_same_sums() {
        let (key, control) = (ReleaseKey::insecure_test([9; 32]), Control::default());
        let rows: Vec<(u64, u64)> = (0..9_000).map(|row| (row * row % 899, row * 7 % 310)).collect();
        let bound = L0Bound::new(5).unwrap();
        let bounded = BoundedContributions::new(contributions(&rows, &key), bound, &key, &control).unwrap();
        let visits = Visits { contributions: &bounded, key: &key, control: &control };
        let quotas = MatchingSlots { quota: 3, most: 3 };
        let narrow = quotas.sums::<[u8; 3]>(visits, Offers::of(visits, None).unwrap()).unwrap();
        let wide = quotas.sums::<u32>(visits, Offers::of(visits, None).unwrap()).unwrap();
        assert_eq!(narrow, wide);
        assert!(narrow.filled > 100 && narrow.held > 300);
    }
}
