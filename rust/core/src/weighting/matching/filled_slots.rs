//! What a matching fills, softly: the two sums of the score of a look. Proof: `docs/algorithms/matching_or.md`.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::clipped;

use super::holders::Holders;
use super::offers::Offers;
use super::user_number::{self, UserNumber};
use super::{MatchingSlots, charge};
use crate::weighting::order::Visits;

/// How far items are filled by users of few items, and how far they would be if users had no other items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilledSlots {
    /// The filled slots of each item beyond a quarter of its quota, in quarters of a slot, added up.
    pub filled: i64,
    /// The holders of each item beyond an eighth of its quota, and beyond one, in eighths of a holder, added up. At most
    /// six quotas of them count.
    pub held: i64,
}

impl FilledSlots {
    /// The most items of a user. Those who keep so many are holders of them, and fill no slot.
    pub const SEEN: u32 = 16;
    /// What a whole quota is in `filled`, for an item of a quota of one slot.
    pub const FULL_ITEM: u32 = 3;
    /// The same in `held`, of the holders that an item counts at most.
    pub const FULL_HOLDERS: u32 = 48;
    /// By how much adding a user raises `filled` at most.
    pub const MOST_FILLED: u32 = 4;
    /// By how much adding a user raises `held` at most.
    pub const MOST_HELD: u32 = 8 * Self::SEEN;
}

impl MatchingSlots {
    /// What the slots of the quota fill, in the order of digests. Slots beyond it are not offered. Users are bounded at
    /// [`FilledSlots::SEEN`].
    ///
    /// # Contract
    /// Adding a user raises `filled` by at most [`FilledSlots::MOST_FILLED`], and `held` by at most
    /// [`FilledSlots::MOST_HELD`]. Neither falls.
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
        for turn in self.assign(visits, &holders, |kept| kept < FilledSlots::SEEN as usize)? {
            levels[turn as usize] += 1;
        }
        let quota = i64::from(self.quota);
        let most = i64::from(FilledSlots::FULL_HOLDERS) * quota;
        let mut sums = FilledSlots::default();
        for (level, turn) in levels.iter().zip(0_u32..) {
            sums.filled += (4 * i64::from(*level) - quota).max(0);
            let users: u32 = clipped(holders.users_of(turn).len());
            sums.held += (8 * i64::from(users) - quota.max(8)).clamp(0, most);
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
        let bound = L0Bound::new(FilledSlots::SEEN.into()).unwrap();
        let bounded = BoundedContributions::new(contributions(rows, &key), bound, &key, &control).unwrap();
        let visits = Visits { contributions: &bounded, key: &key, control: &control };
        // Slots beyond the quota do not count.
        MatchingSlots { quota, most: 7 * quota }.filled_slots(visits).unwrap()
    }

    #[test]
    fn items_count_from_a_quarter_of_a_quota_on_and_holders_from_an_eighth_up_to_six_more() {
        // So many users of an item that nobody else has, for a quota of 8.
        for (users, filled, held) in [
            (0, 0, 0),
            (1, 0, 0),
            (2, 0, 8),
            (3, 4, 16),
            (8, 24, 56),
            (9, 24, 64),
            (48, 24, 376),
            (49, 24, 384),
            (60, 24, 384),
        ] {
            let rows: Vec<(u64, u64)> = (0..users).map(|user| (user, 1)).collect();
            assert_eq!(found(&rows, 8), FilledSlots { filled, held }, "{users}");
        }
        let (most, quota) = (found(&(0..90).map(|user| (user, 1)).collect::<Vec<_>>(), 8), 8);
        assert_eq!(most.filled, quota * i64::from(FilledSlots::FULL_ITEM));
        assert_eq!(most.held, quota * i64::from(FilledSlots::FULL_HOLDERS));
    }

    #[test]
    fn a_user_of_as_many_items_as_are_seen_is_a_holder_of_them_and_fills_none() {
        let lists = |length| (0..40).flat_map(move |user| (0..length).map(move |item| (user, item)));
        let (few, many) = (u64::from(FilledSlots::SEEN) - 1, u64::from(FilledSlots::SEEN));
        let of = |length| found(&lists(length).collect::<Vec<_>>(), 8);
        assert_eq!(of(few), FilledSlots { filled: 5 * 24, held: 15 * (8 * 40 - 8) });
        assert_eq!(of(many), FilledSlots { filled: 0, held: 16 * (8 * 40 - 8) });
        // Nobody takes over from those who fill none.
        let both: Vec<(u64, u64)> = lists(many).chain((40..50).map(|user| (user, user % 2))).collect();
        assert_eq!(found(&both, 8).filled, 2 * (4 * 5 - 8));
    }

    #[test]
    fn a_user_of_many_items_fills_one_slot_and_holds_all() {
        let rows: Vec<(u64, u64)> = (0..5).flat_map(|item| (0..4).map(move |user| (user, item))).collect();
        // Four users fill the four slots of one item, or one of each of four.
        assert_eq!(found(&rows, 4), FilledSlots { filled: 12, held: 5 * (8 * 4 - 8) });
        assert_eq!(found(&rows, 1), FilledSlots { filled: 4 * 3, held: 5 * (8 * 4 - 8) });
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
        assert!(narrow.filled > 100 && narrow.held > 1_000);
    }
}
