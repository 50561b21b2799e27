//! Greedy: each user gives its unit to its most preferred item below the cutoff, what is left over to the next one.
//!
//! If the cutoff is a whole number of units of weight, each user gives one whole unit to one item; then two neighbouring
//! histograms differ in at most one item, by exactly one unit. Proof: `docs/algorithms/unit_greedy.md`.

use serde::{Deserialize, Serialize};

use super::order::Visits;
use super::preference::by_digest;
use super::{Preference, UNIT, WeightHistogram};
use crate::Result;

/// Whole fillings up to a cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greedy {
    /// The most weight of an item, in integer units; at least one unit of weight.
    pub cutoff: u64,
}

impl Greedy {
    /// The weights of one round.
    ///
    /// # Contract
    /// Every weight stays or grows when a user is added, and all of them together grow by at most one unit of weight. But any
    /// number of items that had no weight may get some, items of other users among them.
    pub(super) fn weigh(
        self,
        visits: Visits<'_>,
        preference: &Preference,
        histogram: &mut WeightHistogram,
    ) -> Result<()> {
        let charged = visits.charge(size_of::<Slot>())?;
        let slot = |rank| Slot { weight: 0, rank };
        let slots = preference.ranks(&visits).into_iter().map(slot).collect();
        let mut filling =
            Filling { cutoff: self.cutoff, slots, tie: |tied: &mut [u32]| by_digest(&visits, tied) };
        visits.run(1, |items| filling.visit(items))?;
        histogram.set(filling.slots.iter().map(|slot| slot.weight));
        visits.control.release_memory(charged);
        Ok(())
    }
}

/// An item: its weight and how much it is preferred; less is more.
#[derive(Debug, Clone, Copy)]
struct Slot {
    weight: u64,
    rank: u64,
}

struct Filling<T> {
    cutoff: u64,
    slots: Vec<Slot>,
    /// Sorts items of equal rank.
    tie: T,
}

impl<T: Fn(&mut [u32])> Filling<T> {
    /// Let one user give its unit. Another item is looked for only after one was filled to the cutoff, which happens once
    /// for each item: so all visits together take linear time.
    fn visit(&mut self, items: &[u32]) {
        let mut left = UNIT;
        while left > 0 {
            let Some(item) = self.preferred(items) else { return };
            let slot = &mut self.slots[item as usize];
            let gift = left.min(self.cutoff - slot.weight);
            slot.weight += gift;
            left -= gift;
        }
    }

    /// The most preferred item below the cutoff.
    fn preferred(&self, items: &[u32]) -> Option<u32> {
        let (mut best, mut best_rank, mut tied) = (None, u64::MAX, false);
        for &item in items {
            let slot = self.slots[item as usize];
            if slot.weight < self.cutoff && (best.is_none() || slot.rank <= best_rank) {
                tied = best.is_some() && slot.rank == best_rank;
                (best, best_rank) = (Some(item), slot.rank);
            }
        }
        if tied { self.first_of_rank(items, best_rank) } else { best }
    }

    #[cold]
    fn first_of_rank(&self, items: &[u32], rank: u64) -> Option<u32> {
        let open = |slot: Slot| slot.weight < self.cutoff && slot.rank == rank;
        let mut tied: Vec<u32> =
            items.iter().copied().filter(|item| open(self.slots[*item as usize])).collect();
        (self.tie)(&mut tied);
        tied.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The weights after all users came in this order.
    fn filled(cutoff: u64, ranks: &[u64], users: &[Vec<u32>]) -> Vec<u64> {
        let slots = ranks.iter().map(|&rank| Slot { weight: 0, rank }).collect();
        let mut filling = Filling { cutoff, slots, tie: <[u32]>::sort_unstable };
        for items in users {
            filling.visit(items);
        }
        filling.slots.iter().map(|slot| slot.weight).collect()
    }

    fn tables() -> impl Strategy<Value = (Vec<Vec<u32>>, usize)> {
        let user = prop::collection::btree_set(0..12_u32, 1..7).prop_map(|set| set.into_iter().collect());
        prop::collection::vec(user, 1..60).prop_flat_map(|users| {
            let count = users.len();
            (Just(users), 0..count)
        })
    }

    proptest! {
        /// Taking a user out anywhere: nothing grows, and one unit at most is missing.
        #[test]
        fn a_user_moves_one_unit_in_all(
            (users, gone) in tables(), ranks in prop::collection::vec(0..5_u64, 12), cutoff in UNIT..4 * UNIT,
        ) {
            let mut others = users.clone();
            others.remove(gone);
            let (with, without) = (filled(cutoff, &ranks, &users), filled(cutoff, &ranks, &others));
            prop_assert!(with.iter().zip(&without).all(|(with, without)| with >= without));
            let moved: u64 = with.iter().zip(&without).map(|(with, without)| with - without).sum();
            prop_assert!(moved <= UNIT);
        }

        /// With a whole cutoff exactly one item differs, by exactly one unit, or none if everything was full.
        #[test]
        fn whole_units_differ_in_one_item(
            (users, gone) in tables(), ranks in prop::collection::vec(0..5_u64, 12), votes in 1..5_u64,
        ) {
            let cutoff = votes * UNIT;
            let mut others = users.clone();
            others.remove(gone);
            let (with, without) = (filled(cutoff, &ranks, &users), filled(cutoff, &ranks, &others));
            let moved: Vec<u64> =
                with.iter().zip(&without).map(|(a, b)| a - b).filter(|moved| *moved > 0).collect();
            prop_assert!(moved.is_empty() || moved == [UNIT]);
            prop_assert!(with.iter().all(|weight| weight.is_multiple_of(UNIT)));
        }
    }
}
