//! Matching: every user fills one slot of one of its items, and as many slots as possible are filled, in a fixed order.
//!
//! Slot after slot, a slot is kept if an augmenting path leads from it to a user who is free. Which slots are kept is a
//! property of the table and of the order of slots, not of the paths. Adding a user keeps at most one slot more, and
//! none less. Proof: `docs/algorithms/matching.md`.

mod assignment;
mod filled_slots;
mod holders;
mod offers;
mod places;
mod user_number;

use dpsel_exact::Result;
use dpsel_exact::numeric::UNIT;
use dpsel_rows::contributions::Totals;
use dpsel_rows::runtime::{Control, TALLIED, WEIGHING};
use serde::{Deserialize, Serialize};

use self::assignment::Assignment;
pub use self::filled_slots::FilledSlots;
use self::holders::Holders;
use self::offers::Offers;
use self::places::Places;
use self::user_number::UserNumber;
use super::histogram::WeightHistogram;
use super::order::Visits;

/// The slots of every item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchingSlots {
    /// The slots that an item is offered in its turn, before the next item. At least 1.
    pub quota: u32,
    /// The most slots of an item. Those beyond the quota are offered one for each item in turn.
    pub most: u32,
}

impl MatchingSlots {
    /// The weights of one round: one unit for each kept slot.
    ///
    /// Items come in descending order of their noisy levels, if the `ranking` has them, and then by their digests.
    ///
    /// # Contract
    /// Adding a user raises the weight of at most one item, by one unit, and lowers none, if the ranking stays.
    pub(super) fn weigh(
        self,
        visits: Visits<'_>,
        ranking: Option<Vec<i64>>,
        histogram: &mut WeightHistogram,
    ) -> Result<()> {
        let charged = charge(visits)?;
        let offers = Offers::of(visits, ranking)?;
        if user_number::are_few(visits.contributions.users()) {
            self.fill::<[u8; 3]>(visits, offers, histogram)?;
        } else {
            self.fill::<u32>(visits, offers, histogram)?;
        }
        visits.control.release_memory(charged);
        Ok(())
    }

    /// The weights. Lists of users have their numbers as `N`.
    fn fill<N: UserNumber>(
        self,
        visits: Visits<'_>,
        Offers { codes, counts }: Offers,
        histogram: &mut WeightHistogram,
    ) -> Result<()> {
        let holders = Holders::<N>::of(visits.contributions, &codes, counts, visits.control)?;
        let filled = self.assign(visits, &holders, |_| true)?;
        drop(holders);
        histogram.set_sums(filled.iter().map(|turn| (codes[*turn as usize], UNIT)));
        Ok(())
    }

    /// The turns of the items whose slots are filled, one for each kept slot. Users fill one if the number of their kept
    /// items `may_fill` one.
    fn assign<N: UserNumber>(
        self,
        visits: Visits<'_>,
        holders: &Holders<N>,
        may_fill: impl Fn(usize) -> bool,
    ) -> Result<Vec<u32>> {
        let Visits { contributions, control, .. } = visits;
        let users = contributions.users();
        let free = (0..users).filter(|user| !contributions.kept_items(*user).is_empty()).count();
        let mut assignment = Assignment::new(holders, users, free, control);
        for user in (0..users).filter(|user| !may_fill(contributions.kept_items(*user).len())) {
            assignment.leave_out(user);
        }
        let mut growing = self.quotas(&mut assignment, holders.items(), control)?;
        for _ in self.quota..self.most {
            control.check()?;
            let mut kept = 0;
            for at in 0..growing.len() {
                if assignment.offer(growing[at])? {
                    growing[kept] = growing[at];
                    kept += 1;
                }
            }
            growing.truncate(kept);
            if growing.is_empty() {
                break;
            }
        }
        Ok(assignment.into_filled())
    }

    /// Offer the slots of the quota; returns the items that keep all of theirs.
    ///
    /// No other item would keep a further slot.
    fn quotas<N: UserNumber>(
        self,
        assignment: &mut Assignment<'_, N>,
        items: usize,
        control: &Control,
    ) -> Result<Vec<u32>> {
        let quota = self.quota.min(self.most);
        let tally = control.tally(WEIGHING, items);
        let (mut turns, mut full) = (0_u32.., Vec::with_capacity(items));
        for first in (0..items).step_by(TALLIED) {
            control.check()?;
            let some = TALLIED.min(items - first);
            for item in turns.by_ref().take(some) {
                let mut kept = 0;
                while kept < quota && assignment.offer(item)? {
                    kept += 1;
                }
                if kept == quota {
                    full.push(item);
                }
            }
            tally.add(some);
        }
        Ok(full)
    }
}

/// Bytes that are held until the weights are found.
pub(super) fn bytes(totals: Totals) -> usize {
    let Totals { users, codes, rows } = totals;
    let (per_item, per_user) = assignment::BYTES;
    // Only items that somebody keeps have a turn: its code, and its number while the item grows. What puts them in
    // order takes less, and is gone before.
    let turns = codes.min(rows);
    codes * (size_of::<u32>() + Places::width(rows))
        + turns * (per_item + Places::width(rows) + 2 * size_of::<u32>())
        + users * per_user
        + rows * user_number::width(users)
}

/// Count this memory.
fn charge(visits: Visits<'_>) -> Result<u64> {
    let Visits { contributions, .. } = visits;
    let (users, rows) = (contributions.users(), contributions.rows());
    let bytes = bytes(Totals { users, codes: contributions.vocabulary().code_bound(), rows }) as u64;
    visits.control.charge_memory(bytes, "weighing the items")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::L0Bound;
    use dpsel_exact::random::ReleaseKey;
    use dpsel_rows::contributions::testing::contributions;

    use super::*;
    use crate::bounding::BoundedContributions;

    /// Other tests have too few users for the wider numbers.
    #[test]
    fn numbers_of_either_width_give_the_same_weights() {
        let (key, control) = (ReleaseKey::insecure_test([9; 32]), Control::default());
        let rows: Vec<(u64, u64)> = (0..9_000).map(|row| (row * row % 899, row * 7 % 310)).collect();
        let bound = L0Bound::new(5).unwrap();
        let bounded = BoundedContributions::new(contributions(&rows, &key), bound, &key, &control).unwrap();
        let visits = Visits { contributions: &bounded, key: &key, control: &control };
        let codes = bounded.vocabulary().code_bound();
        let matching = MatchingSlots { quota: 2, most: 4 };
        let (mut narrow, mut wide) = (WeightHistogram::new(codes), WeightHistogram::new(codes));
        matching.fill::<[u8; 3]>(visits, Offers::of(visits, None).unwrap(), &mut narrow).unwrap();
        matching.fill::<u32>(visits, Offers::of(visits, None).unwrap(), &mut wide).unwrap();
        let found: Vec<u64> = narrow.weights(0..codes).collect();
        assert_eq!(found, wide.weights(0..codes).collect::<Vec<_>>());
        assert!(found.iter().sum::<u64>() > 100 * UNIT);
    }
}
