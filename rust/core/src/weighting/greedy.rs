//! Greedy: each user gives its unit to its most preferred item below the cutoff, and the rest to the next ones.
//!
//! A user's most preferred item is the first of its items: they were put in order when they were grouped. If the cutoff
//! is a whole number of units of weight, each user gives one whole unit to one item; then two neighbouring histograms
//! differ in at most one item, by exactly one unit. Proof: `docs/algorithms/unit_greedy.md`.

use dpsel_exact::Result;
use dpsel_exact::numeric::UNIT;
use serde::{Deserialize, Serialize};

use super::histogram::WeightHistogram;
use super::order::Visits;

/// Whole fillings up to a cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greedy {
    /// The most weight of an item, in grid steps; at least one unit of weight.
    pub cutoff: u64,
}

impl Greedy {
    /// Bytes of an item while the weights are found.
    pub(super) const ITEM_BYTES: usize = size_of::<u64>();

    /// The weights of one round.
    ///
    /// # Contract
    /// Every weight stays or grows when a user is added, and all of them together grow by at most one unit of weight.
    /// But any number of items that had no weight may get some, items of other users among them. Each gift is a
    /// multiple of every divisor that the cutoff and one unit have in common.
    pub(super) fn weigh(self, visits: Visits<'_>, histogram: &mut WeightHistogram) -> Result<()> {
        let charged = visits.charge(Self::ITEM_BYTES)?;
        let mut weights = vec![0; visits.contributions.vocabulary().code_bound()];
        visits.run(1, |items| self.visit(items, &mut weights))?;
        histogram.set(weights.into_iter());
        visits.control.release_memory(charged);
        Ok(())
    }

    /// Let one user give its unit.
    fn visit(self, items: &[u32], weights: &mut [u64]) {
        let mut left = UNIT;
        for &item in items {
            let weight = &mut weights[item as usize];
            let gift = left.min(self.cutoff - *weight);
            *weight += gift;
            left -= gift;
            if left == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The weights after all users came in this order, each with its items in order of preference.
    fn filled(cutoff: u64, users: &[Vec<u32>]) -> Vec<u64> {
        let mut weights = vec![0; 12];
        for items in users {
            Greedy { cutoff }.visit(items, &mut weights);
        }
        weights
    }

    fn tables() -> impl Strategy<Value = (Vec<Vec<u32>>, usize)> {
        // Each user has an order of its own.
        let items = Just((0..12_u32).collect::<Vec<_>>()).prop_shuffle();
        let user = (items, 1..7_usize).prop_map(|(items, count)| items[..count].to_vec());
        prop::collection::vec(user, 1..60).prop_flat_map(|users| {
            let count = users.len();
            (Just(users), 0..count)
        })
    }

    proptest! {
        /// Taking a user out anywhere: nothing grows, and one unit at most is missing.
        #[test]
        fn a_user_moves_one_unit_in_all(
            (users, removed) in tables(), cutoff in UNIT..4 * UNIT,
        ) {
            let mut others = users.clone();
            others.remove(removed);
            let (with, without) = (filled(cutoff, &users), filled(cutoff, &others));
            prop_assert!(with.iter().zip(&without).all(|(with, without)| with >= without));
            let moved: u64 = with.iter().zip(&without).map(|(with, without)| with - without).sum();
            prop_assert!(moved <= UNIT);
        }

        /// With a whole cutoff exactly one item differs, by exactly one unit, or none if everything was full.
        #[test]
        fn whole_units_differ_in_one_item(
            (users, removed) in tables(), votes in 1..5_u64,
        ) {
            let cutoff = votes * UNIT;
            let mut others = users.clone();
            others.remove(removed);
            let (with, without) = (filled(cutoff, &users), filled(cutoff, &others));
            let moved: Vec<u64> =
                with.iter().zip(&without).map(|(a, b)| a - b).filter(|moved| *moved > 0).collect();
            prop_assert!(moved.is_empty() || moved == [UNIT]);
            prop_assert!(with.iter().all(|weight| weight.is_multiple_of(UNIT)));
        }
    }
}
