//! What a matching fills, softly: the two sums of the score of a look. Proof: `docs/algorithms/matching_or.md`.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::clipped;

use super::holders::Holders;
use super::offers::Offers;
use super::user_number::{self, UserNumber};
use super::{MatchingSlots, charge};
use crate::weighting::order::Visits;

/// How far items are filled, and how far they would be if users had no other items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilledSlots {
    /// The filled slots of each item beyond a quarter of its quota, in quarters of a slot, added up.
    pub filled: i64,
    /// The holders of each item beyond an eighth of its quota, and beyond one, in eighths of a part of a holder, added up.
    /// At most five quotas of them count.
    pub held: i64,
}

impl FilledSlots {
    /// What a whole quota is in `filled`, for an item of a quota of one slot.
    pub const FULL_ITEM: u32 = 3;
    /// The same in `held`, of the holders that an item counts at most.
    pub const FULL_HOLDERS: u32 = 40 * PARTS;
    /// By how much adding a user raises `filled` at most.
    pub const MOST_FILLED: u32 = 4;
    /// By how much adding a user raises `held` at most.
    pub const MOST_HELD: u32 = 8 * PARTS * WHOLE;
}

/// A user counts as a whole holder of so many items. One who keeps more is a part of a holder of each, together as much.
const WHOLE: u32 = 15;
/// The parts of a whole holder.
const PARTS: u32 = 64;

/// The parts of a holder that a user is who keeps so many items.
fn parts_of(kept: usize) -> u32 {
    PARTS * WHOLE / clipped::<u32, _>(kept).max(WHOLE)
}

impl MatchingSlots {
    /// What the slots of the quota fill, in the order of digests. Slots beyond it are not offered.
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
        for turn in self.assign(visits, &holders)? {
            levels[turn as usize] += 1;
        }
        let contributions = visits.contributions;
        let parts: Vec<u32> =
            (0..contributions.users()).map(|user| parts_of(contributions.kept_items(user).len())).collect();
        let quota = i64::from(self.quota);
        let least = i64::from(PARTS) * quota.max(8);
        let most = i64::from(FilledSlots::FULL_HOLDERS) * quota;
        let mut sums = FilledSlots::default();
        for (level, turn) in levels.iter().zip(0_u32..) {
            sums.filled += (4 * i64::from(*level) - quota).max(0);
            let held: i64 =
                holders.users_of(turn).iter().map(|user| i64::from(parts[user.get() as usize])).sum();
            sums.held += (8 * held - least).clamp(0, most);
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
    fn items_count_from_a_quarter_of_a_quota_on_and_holders_from_an_eighth_up_to_five_more() {
        // So many users of an item that nobody else has, for a quota of 8.
        for (users, filled, held) in [
            (0, 0, 0),
            (1, 0, 0),
            (2, 0, 8),
            (3, 4, 16),
            (8, 24, 56),
            (9, 24, 64),
            (40, 24, 312),
            (41, 24, 320),
            (60, 24, 320),
        ] {
            let rows: Vec<(u64, u64)> = (0..users).map(|user| (user, 1)).collect();
            assert_eq!(found(&rows, 8), FilledSlots { filled, held: held * i64::from(PARTS) }, "{users}");
        }
        let (most, quota) = (found(&(0..90).map(|user| (user, 1)).collect::<Vec<_>>(), 8), 8);
        assert_eq!(most.filled, quota * i64::from(FilledSlots::FULL_ITEM));
        assert_eq!(most.held, quota * i64::from(FilledSlots::FULL_HOLDERS));
    }

    #[test]
    fn a_user_is_a_whole_holder_of_some_items_and_a_part_of_one_of_each_of_more() {
        let parts: Vec<u32> = [0, 1, 15, 16, 20, 30, 960, 961].into_iter().map(parts_of).collect();
        assert_eq!(parts, [64, 64, 64, 60, 48, 32, 1, 0]);
        for kept in 1..2_000_usize {
            assert!(kept * parts_of(kept) as usize <= (PARTS * WHOLE) as usize, "{kept}");
        }
    }

    #[test]
    fn a_user_of_many_items_fills_one_slot_and_holds_all() {
        let rows: Vec<(u64, u64)> = (0..5).flat_map(|item| (0..4).map(move |user| (user, item))).collect();
        // Four users fill the four slots of one item, or one of each of four.
        assert_eq!(found(&rows, 4), FilledSlots { filled: 12, held: 5 * (8 * 4 - 8) * 64 });
        assert_eq!(found(&rows, 1), FilledSlots { filled: 4 * 3, held: 5 * (8 * 4 - 8) * 64 });
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
        assert!(narrow.filled > 100 && narrow.held > 10_000);
    }
}
