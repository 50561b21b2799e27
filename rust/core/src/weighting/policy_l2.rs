//! Descent in L2: each user moves its items towards the cutoff, by a distance of at most one.
//!
//! The gaps d between the cutoff and the weights of a user's items become d (1 - B/|d|), or 0 if |d| <= B. This map
//! does not let two vectors of gaps grow apart, because it is the proximal map of B |.|. Users move weights in fine
//! steps, which divide a grid step, and round towards zero. Rounding lets the distance grow by at most sqrt(D0) + 3
//! fine steps a user; the norm covers this for 2^32 users. Proof: `docs/algorithms/policy_gaussian.md`.

use dpsel_exact::numeric::{FRACTION_BITS, Interval, UNIT};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::histogram::WeightHistogram;
use super::order::Visits;

/// Straight steps towards a cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyL2 {
    /// The most weight of an item, in grid steps; at least one unit of weight.
    pub cutoff: u64,
    /// The number of passes over all users. A user spends an equal part of its allowance in each.
    pub passes: u32,
    /// The most L2 norm by which adding a user moves the weights, in grid steps: one unit of weight and the slack of
    /// rounding.
    pub norm: u64,
}

/// A grid step is at most two to this power fine steps.
const MOST_GRID_BITS: u32 = 30;

impl PolicyL2 {
    /// The norm that is proved for a cutoff, number of passes and bound of items, in grid steps; `None` if
    /// rounding is not under control.
    ///
    /// # Contract
    /// Rounded up: 2^16 grid steps for the last rounding of 2^32 items, and sqrt(D0) + 3 fine steps for each of 2^32
    /// users.
    #[must_use]
    pub fn proved_norm(cutoff: u64, passes: u32, bound: u32) -> Option<u64> {
        let grid_bits = grid_bits(cutoff, bound)?;
        let steps = (u128::from(passes) * u128::from(ceil_sqrt(bound.into()) + 3)) << 32;
        let slack = u64::try_from(steps.div_ceil(1 << grid_bits)).ok()?;
        (UNIT + (1 << 16)).checked_add(slack)
    }

    /// The norm in units of weight.
    #[must_use]
    pub(crate) fn norm(self) -> Interval {
        Interval::integer(self.norm.into()) * Interval::point(1.0 / UNIT as f64)
    }

    /// At least this much goes to each novel item of a user of at most `k` items, in grid steps.
    ///
    /// Nothing has a larger gap than a novel item, so it gets at least B/sqrt(k) in each pass, up to rounding.
    pub(crate) fn least_novel_weight(k: u32) -> u64 {
        ((UNIT * UNIT) / u64::from(k.max(1))).isqrt().saturating_sub(2)
    }

    /// Bytes of an item while the weights are found.
    pub(super) const ITEM_BYTES: usize = size_of::<u64>();

    /// The weights of one round.
    ///
    /// # Contract
    /// If `norm` is at least [`PolicyL2::proved_norm`], adding a user moves the weights by an L2 distance of at most
    /// `norm`. Every held item has weight.
    pub(super) fn weigh(self, visits: Visits<'_>, histogram: &mut WeightHistogram) -> Result<()> {
        let charged = visits.charge(Self::ITEM_BYTES)?;
        let grid_bits = grid_bits(self.cutoff, visits.contributions.bound())
            .ok_or(Error::Internal("a cutoff whose gaps do not fit 63 bits"))?;
        let mut descent = L2Descent {
            cutoff: self.cutoff << grid_bits,
            allowance: (1_u64 << (FRACTION_BITS + grid_bits)) / u64::from(self.passes.max(1)),
            grid_bits,
            weights: vec![0; visits.contributions.vocabulary().code_bound()],
            gaps: Vec::new(),
        };
        visits.run(self.passes, |items| descent.visit(items))?;
        histogram.set(descent.weights.iter().map(|weight| descent.in_grid_steps(*weight)));
        visits.control.release_memory(charged);
        Ok(())
    }
}

/// The binary logarithm of the fine steps in a grid step: the largest for which the norm of D0 gaps stays below 2^63.
fn grid_bits(cutoff: u64, bound: u32) -> Option<u32> {
    let norm = cutoff.checked_mul(ceil_sqrt(bound.into()))?;
    norm.leading_zeros().checked_sub(1).map(|bits| bits.min(MOST_GRID_BITS))
}

fn ceil_sqrt(n: u64) -> u64 {
    let root = n.isqrt();
    root + u64::from(root * root < n)
}

/// The items in the middle of a round.
#[derive(Debug)]
struct L2Descent {
    /// In fine steps, like all weights that follow.
    cutoff: u64,
    allowance: u64,
    grid_bits: u32,
    weights: Vec<u64>,
    /// The gaps of the present user's items.
    gaps: Vec<u64>,
}

impl L2Descent {
    /// A weight in grid steps, rounded down.
    fn in_grid_steps(&self, weight: u64) -> u64 {
        weight >> self.grid_bits
    }

    /// Let one user take its step.
    fn visit(&mut self, items: &[u32]) {
        let (weights, cutoff) = (&mut self.weights, self.cutoff);
        self.gaps.clear();
        self.gaps.extend(items.iter().map(|item| cutoff - weights[*item as usize]));
        let square: u128 = self.gaps.iter().map(|gap| u128::from(*gap) * u128::from(*gap)).sum();
        if square <= u128::from(self.allowance) * u128::from(self.allowance) {
            for &item in items {
                weights[item as usize] = cutoff;
            }
            return;
        }
        let ratio = self.ratio(square);
        for (&item, &gap) in items.iter().zip(&self.gaps) {
            self.weights[item as usize] += high_half(gap, ratio);
        }
    }

    /// allowance / sqrt(square) in units of 2^-64, rounded down. It is below 1, because `square` exceeds the allowance
    /// squared.
    #[expect(clippy::cast_possible_truncation, reason = "the quotient is below 2^64")]
    fn ratio(&self, square: u128) -> u64 {
        let root = square.isqrt();
        let norm = root + u128::from(root * root < square);
        ((u128::from(self.allowance) << 64) / norm) as u64
    }
}

/// a b / 2^64, rounded down.
#[inline]
fn high_half(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GRID: u64 = 1 << 55;

    fn step(weights: &[u64], cutoff: u64) -> Vec<u64> {
        let mut descent =
            L2Descent { cutoff, allowance: GRID, grid_bits: 0, weights: weights.to_vec(), gaps: Vec::new() };
        descent.visit(&(0..).take(weights.len()).collect::<Vec<u32>>());
        descent.weights
    }

    fn square_distance(a: &[u64], b: &[u64]) -> u128 {
        a.iter().zip(b).map(|(a, b)| u128::from(a.abs_diff(*b)).pow(2)).sum()
    }

    proptest! {
        /// A step is at most the allowance long, spends nearly all of it, and never passes the cutoff.
        #[test]
        fn a_step_spends_the_budget(gaps in prop::collection::vec(0..20 * GRID, 1..12)) {
            let cutoff = 20 * GRID;
            let weights: Vec<u64> = gaps.iter().map(|gap| cutoff - gap).collect();
            let after = step(&weights, cutoff);
            prop_assert!(after.iter().zip(&weights).all(|(new, old)| new >= old && *new <= cutoff));
            let moved = square_distance(&after, &weights);
            prop_assert!(moved <= u128::from(GRID).pow(2));
            let gap = square_distance(&weights, &vec![cutoff; weights.len()]);
            let least = u128::from(GRID - 8).pow(2).min(gap);
            prop_assert!(moved >= least, "{} {}", moved, least);
        }

        /// Two histograms that one user changes grow apart by at most sqrt(m) + 3 fine steps.
        #[test]
        fn a_step_is_contractive_up_to_rounding(
            one in prop::collection::vec(0..=20 * GRID, 1..12),
            moves in prop::collection::vec(prop_oneof![Just(0), -3..3_i64, -(1_i64 << 54)..1 << 54], 12),
        ) {
            let cutoff = 20 * GRID;
            let other: Vec<u64> =
                one.iter().zip(&moves).map(|(w, m)| w.saturating_add_signed(*m).min(cutoff)).collect();
            let before = ceil_root(square_distance(&one, &other));
            let after = square_distance(&step(&one, cutoff), &step(&other, cutoff)).isqrt();
            let slack = u128::from(ceil_sqrt(one.len() as u64)) + 3;
            prop_assert!(after <= before + slack, "{} {}", after, before);
        }
    }

    fn ceil_root(n: u128) -> u128 {
        let root = n.isqrt();
        root + u128::from(root * root < n)
    }

    #[test]
    fn the_norm_is_close_to_one_for_usual_parameters() {
        for (cutoff, bound) in [(3, 10_u32), (20, 100), (120, 100), (200, 1000)] {
            let norm = PolicyL2::proved_norm(cutoff * UNIT, 1, bound).unwrap();
            let slack = (norm - UNIT) as f64 / UNIT as f64;
            assert!(slack < 2e-4, "{cutoff} {bound} {slack}");
        }
        assert!(PolicyL2::proved_norm(20 * UNIT, 1, 100).unwrap() as f64 <= 1.0001 * UNIT as f64);
        assert_eq!(PolicyL2::proved_norm(1 << 61, 1, 100), None);
        let many = PolicyL2::proved_norm(20 * UNIT, 4, 100).unwrap();
        assert!(many > PolicyL2::proved_norm(20 * UNIT, 1, 100).unwrap());
    }

    #[test]
    fn gaps_below_the_budget_are_closed_exactly() {
        assert_eq!(step(&[GRID, GRID - 1, GRID], GRID), [GRID; 3]);
        assert_eq!(step(&[0], GRID), [GRID]);
        assert_eq!(step(&[0], 2 * GRID), [GRID]);
    }
}
