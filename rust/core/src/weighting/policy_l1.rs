//! Descent in L1: each user raises its items below the cutoff at equal speed.
//!
//! A user of m open items (below the cutoff) places its units one by one: one for each open item in order of digest,
//! again and again, until the allowance is spent or all are at the cutoff. Any unit is placed in H if it is placed in H'
//! <= H at an earlier turn, so more weight before means more weight after, and the total difference never grows. That
//! is exact in integers; the proof is in `docs/algorithms/policy_laplace.md`. The code finds the outcome with one
//! division.

use dpsel_exact::Result;
use dpsel_exact::numeric::UNIT;
use dpsel_exact::numeric::widths::index;
use serde::{Deserialize, Serialize};

use super::histogram::WeightHistogram;
use super::order::Visits;

/// Equal raises up to a cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyL1 {
    /// The most weight of an item, in grid steps; at least one unit of weight.
    pub cutoff: u64,
    /// The number of passes over all users. A user spends an equal part of its allowance in each.
    pub passes: u32,
}

impl PolicyL1 {
    /// The allowance of a user for one pass, in quanta.
    fn allowance(self, quantum: u64) -> u64 {
        UNIT / quantum.max(1) / u64::from(self.passes.max(1))
    }

    /// The largest weight that a user gives to each of `k` items that nobody else holds: an equal share of the allowance
    /// in every pass, rounded up.
    pub(super) fn novel_weight(self, k: u64) -> u64 {
        u64::from(self.passes) * self.allowance(1).div_ceil(k)
    }

    /// Bytes of an item while the weights are found.
    pub(super) const ITEM_BYTES: usize = size_of::<PolicySlot>();

    /// The weights of one round, in multiples of `quantum >= 1`, to which the cutoff is rounded down.
    ///
    /// # Contract
    /// When a user is added every weight stays or grows, and all of them together grow by at most one unit of weight.
    /// With a quantum of 1 every held item has weight.
    pub(super) fn weigh(
        self,
        quantum: u64,
        visits: Visits<'_>,
        histogram: &mut WeightHistogram,
    ) -> Result<()> {
        let quantum = quantum.max(1);
        let charged = visits.charge(Self::ITEM_BYTES)?;
        let mut descent = L1Descent {
            cutoff: self.cutoff / quantum,
            allowance: self.allowance(quantum),
            slots: visits.first_words().into_iter().map(|turn| PolicySlot { weight: 0, turn }).collect(),
            open: Vec::new(),
            turns: Vec::new(),
        };
        visits.run(self.passes, |items| descent.visit(items, |tied| visits.by_digest(tied)))?;
        histogram.set(descent.slots.iter().map(|slot| slot.weight * quantum));
        visits.control.release_memory(charged);
        Ok(())
    }
}

/// An item: its weight, and the leading bits of its digest, by which turns are taken.
#[derive(Debug, Clone, Copy)]
struct PolicySlot {
    /// In quanta.
    weight: u64,
    turn: u64,
}

/// The items in the middle of a round.
#[derive(Debug)]
struct L1Descent {
    /// In quanta, as the allowance and all weights.
    cutoff: u64,
    allowance: u64,
    slots: Vec<PolicySlot>,
    /// The items of the present user that are below the cutoff.
    open: Vec<u32>,
    turns: Vec<u64>,
}

impl L1Descent {
    /// Let one user place its units. `tie` sorts items whose turns are equal.
    fn visit(&mut self, items: &[u32], tie: impl Fn(&mut [u32])) {
        let least_gap = self.collect_open(items);
        let mut left = self.allowance;
        if self.open.is_empty() {
            return;
        }
        if least_gap <= left / self.open.len() as u64 {
            left = self.close_small_gaps(left);
            if self.open.is_empty() {
                return;
            }
        }
        let (share, rest) = (left / self.open.len() as u64, left % self.open.len() as u64);
        let last_turn = self.turn_after(rest);
        let mut given = 0;
        for &item in &self.open {
            let slot = &mut self.slots[item as usize];
            let one_more = u64::from(slot.turn < last_turn);
            slot.weight += share + one_more;
            given += one_more;
        }
        if given < rest {
            self.give_to_tied(last_turn, rest - given, tie);
        }
    }

    /// Find the items below the cutoff; returns the smallest gap.
    fn collect_open(&mut self, items: &[u32]) -> u64 {
        self.open.resize(self.open.len().max(items.len()), 0);
        let (mut count, mut least) = (0, u64::MAX);
        for &item in items {
            let gap = self.cutoff - self.slots[item as usize].weight;
            self.open[count] = item;
            count += usize::from(gap > 0);
            // A gap of zero becomes the largest number.
            least = least.min(gap.wrapping_sub(1));
        }
        self.open.truncate(count);
        least.saturating_add(1)
    }

    /// Fill items that an equal share takes to the cutoff, until none is left; returns the rest of the allowance.
    ///
    /// Filling them leaves no smaller share to the others, so each of them is filled in the end in any case.
    fn close_small_gaps(&mut self, mut left: u64) -> u64 {
        let (slots, cutoff) = (&mut self.slots, self.cutoff);
        loop {
            let before = self.open.len();
            // Otherwise: no item is open, and none is filled.
            let share = left.checked_div(before as u64).unwrap_or(0);
            self.open.retain(|item| {
                let slot = &mut slots[*item as usize];
                let gap = cutoff - slot.weight;
                if gap <= share {
                    slot.weight = cutoff;
                    left -= gap;
                }
                gap > share
            });
            if self.open.len() == before {
                return left;
            }
        }
    }

    /// The turn of the open item that is the first of all without one of the `rest` units.
    fn turn_after(&mut self, rest: u64) -> u64 {
        if rest == 0 {
            return 0;
        }
        let slots = &self.slots;
        self.turns.clear();
        self.turns.extend(self.open.iter().map(|item| slots[*item as usize].turn));
        let at = index(rest).min(self.turns.len() - 1);
        *self.turns.select_nth_unstable(at).1
    }

    /// Give one unit to the first `units` of the open items of this turn.
    #[cold]
    fn give_to_tied(&mut self, turn: u64, units: u64, tie: impl Fn(&mut [u32])) {
        let slots = &mut self.slots;
        let mut tied: Vec<u32> =
            self.open.iter().copied().filter(|item| slots[*item as usize].turn == turn).collect();
        tie(&mut tied);
        for (&item, _) in tied.iter().zip(0..units) {
            slots[item as usize].weight += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn descent(cutoff: u64, weights: &[u64], turns: &[u64]) -> L1Descent {
        let slot = |(&weight, &turn): (&u64, &u64)| PolicySlot { weight, turn };
        L1Descent {
            cutoff,
            allowance: UNIT,
            slots: weights.iter().zip(turns).map(slot).collect(),
            open: Vec::new(),
            turns: Vec::new(),
        }
    }

    /// Unit by unit, as the policy is defined; `scale` units at a time, which must divide the rounds evenly.
    fn placed(cutoff: u64, weights: &[u64], turns: &[u64], items: &[u32]) -> Vec<u64> {
        let mut order: Vec<usize> = items.iter().map(|item| *item as usize).collect();
        order.sort_by_key(|item| (turns[*item], *item));
        let (mut weights, mut left) = (weights.to_vec(), UNIT);
        // Whole rounds at once while nobody is about to reach the cutoff.
        while left > 0 {
            let open: Vec<usize> = order.iter().copied().filter(|item| weights[*item] < cutoff).collect();
            let Some(gap) = open.iter().map(|item| cutoff - weights[*item]).min() else { break };
            let rounds = gap.min(left / open.len() as u64);
            for &item in &open {
                weights[item] += rounds;
            }
            left -= rounds * open.len() as u64;
            if rounds == 0 {
                for &item in open.iter().take(usize::try_from(left).unwrap()) {
                    weights[item] += 1;
                }
                break;
            }
        }
        weights
    }

    proptest! {
        #[test]
        fn one_division_places_what_single_units_place(
            gaps in prop::collection::vec(prop_oneof![0..4_u64, 0..UNIT, Just(3 * UNIT)], 1..9),
            turns in prop::collection::vec(0..4_u64, 9),
        ) {
            let cutoff = 3 * UNIT;
            let weights: Vec<u64> = gaps.iter().map(|gap| cutoff - gap).collect();
            let items: Vec<u32> = (0..).take(gaps.len()).collect();
            let mut descent = descent(cutoff, &weights, &turns[..gaps.len()]);
            descent.visit(&items, <[u32]>::sort_unstable);
            let found: Vec<u64> = descent.slots.iter().map(|slot| slot.weight).collect();
            prop_assert_eq!(&found, &placed(cutoff, &weights, &turns, &items));
            let spent: u64 = found.iter().zip(&weights).map(|(new, old)| new - old).sum();
            prop_assert_eq!(spent, UNIT.min(gaps.iter().sum()));
        }

        /// One step is monotone and never lets the total difference grow.
        #[test]
        fn a_step_is_contractive(
            below in prop::collection::vec(0..3 * UNIT, 1..9),
            more in prop::collection::vec(prop_oneof![Just(0), 0..3_u64, 0..2 * UNIT], 9),
            turns in prop::collection::vec(0..4_u64, 9),
        ) {
            let cutoff = 3 * UNIT;
            let above: Vec<u64> = below.iter().zip(&more).map(|(w, m)| (w + m).min(cutoff)).collect();
            let items: Vec<u32> = (0..).take(below.len()).collect();
            let after = |weights: &[u64]| {
                let mut descent = descent(cutoff, weights, &turns[..weights.len()]);
                descent.visit(&items, <[u32]>::sort_unstable);
                descent.slots.iter().map(|slot| slot.weight).collect::<Vec<_>>()
            };
            let (low, high) = (after(&below), after(&above));
            prop_assert!(low.iter().zip(&high).all(|(low, high)| low <= high));
            let distance = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| b - a).sum::<u64>();
            prop_assert!(distance(&low, &high) <= distance(&below, &above));
        }
    }
}
