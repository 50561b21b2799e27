//! A histogram in which each user's weights are proportional to public importances of the items.
//!
//! Importances are functions of the outcomes of earlier rounds. So a user's weights depend on these outcomes and on its
//! own items only. Their L2 norm is at most 1 and each is at most the user's cap, exactly.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Result;
use crate::bounding::BoundedContributions;
use crate::numeric::FRACTION_BITS;
use crate::runtime::{Control, WEIGHING, parallel};

/// The largest importance of an item; an abandoned item has the importance 0.
pub const FULL_IMPORTANCE: u16 = 256;

/// The number of fractional bits that a user's scale has in addition to the bits of a weight.
const SCALE_BITS: u32 = 10;

/// Sum of the reweighted weights of each item code, in grid steps.
#[derive(Debug)]
pub struct ReweightedHistogram {
    sums: Vec<AtomicU64>,
    /// The largest weight that each user gives to an item, in grid steps.
    caps: Vec<u32>,
}

impl ReweightedHistogram {
    /// All weights zero; `cap` gives the largest weight (at most one unit) of a user from its number of items.
    pub(crate) fn new(contributions: &BoundedContributions, cap: impl Fn(usize) -> u64) -> Self {
        let users = 0..contributions.users();
        // Otherwise: more than a unit, which no publication allows; the user gives nothing.
        let cap = |user| u32::try_from(cap(contributions.kept_items(user).len())).unwrap_or(0);
        let codes = contributions.vocabulary().code_bound();
        Self { sums: (0..codes).map(|_| AtomicU64::new(0)).collect(), caps: users.map(cap).collect() }
    }

    /// The weights of some codes.
    pub(crate) fn weights(&self, codes: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        self.sums[codes].iter().map(|sum| sum.load(Ordering::Relaxed))
    }

    /// Set to the weights of one round under these importances, one for each code.
    ///
    /// The sums are of integers, so neither the order of users nor the number of threads matters.
    ///
    /// # Errors
    /// Interruption.
    pub(crate) fn weigh(
        &mut self,
        contributions: &BoundedContributions,
        importances: &[u16],
        control: &Control,
    ) -> Result<()> {
        self.sums.iter_mut().for_each(|sum| *sum.get_mut() = 0);
        let parts = contributions.user_ranges(control);
        let alone = parts.len() == 1;
        let this = &*self;
        let tally = control.tally(WEIGHING, contributions.users());
        parallel::map(parts.len(), parts, |users| {
            tally.each(users, |user| {
                this.add_user(contributions.kept_items(user), this.caps[user].into(), importances, alone);
            });
        });
        control.check()
    }

    fn add_user(&self, items: &[u32], cap: u64, importances: &[u16], alone: bool) {
        let importance = |item: u32| u64::from(importances[item as usize]);
        let scale = scale(items.iter().map(|&item| importance(item) * importance(item)).sum());
        for &item in items {
            let weight = reweighted(importance(item), scale, cap);
            let sum = &self.sums[item as usize];
            if alone {
                // A plain addition is several times as fast as an atomic one.
                sum.store(sum.load(Ordering::Relaxed) + weight, Ordering::Relaxed);
            } else {
                sum.fetch_add(weight, Ordering::Relaxed);
            }
        }
    }
}

/// floor(2^(s + 10) / sqrt(`squares`)) with `squares` the sum of a user's squared importances; 0 if that is 0.
#[expect(clippy::cast_possible_truncation, reason = "the root of 128 bits has 64")]
pub(super) fn scale(squares: u64) -> u64 {
    let square = 1_u128 << (2 * (FRACTION_BITS + SCALE_BITS));
    // Otherwise: without importances there are no weights to scale.
    square.checked_div(squares.into()).unwrap_or(0).isqrt() as u64
}

/// floor(importance scale / 2^10), but at most the cap.
///
/// # Contract
/// The squares of a user's weights sum to at most 2^2s: each weight is at most 2^s importance / sqrt(`squares`).
pub(super) fn reweighted(importance: u64, scale: u64, cap: u64) -> u64 {
    ((importance * scale) >> SCALE_BITS).min(cap)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::UNIT;
    use crate::weighting::Weighting;

    proptest! {
        #[test]
        fn no_user_exceeds_its_norm_or_its_cap(
            importances in prop::collection::vec(0_u64..=256, 1..400), cap in 1..=UNIT,
        ) {
            let scale = scale(importances.iter().map(|f| f * f).sum());
            let weights: Vec<u64> = importances.iter().map(|f| reweighted(*f, scale, cap)).collect();
            prop_assert!(weights.iter().all(|w| *w <= cap));
            prop_assert!(weights.iter().map(|w| u128::from(w * w)).sum::<u128>() <= u128::from(UNIT * UNIT));
        }

        #[test]
        fn equal_importances_give_nearly_equal_shares(k in 1_u32..100_000, importance in 1_u64..=256) {
            let weight = reweighted(importance, scale(u64::from(k) * importance * importance), UNIT);
            let equal = Weighting::EqualL2.weight(k);
            prop_assert!(weight <= equal && equal - weight <= 1 + importance);
        }
    }

    #[test]
    fn a_user_without_importances_gives_nothing() {
        assert_eq!(reweighted(0, scale(0), UNIT), 0);
        assert_eq!(reweighted(1, scale(1), UNIT), UNIT);
    }
}
