//! Adaptive weights: weight beyond a limit returns to the users who gave it, and from them to their other items.
//!
//! Users spread their unit of norm in proportion to public importances. Weight beyond a limit is cut off items of full
//! importance and returned to the givers in proportion. Each giver puts a fixed part of the returned weight on its
//! items of full importance. Adding a user moves the weights by an L2 distance of at most one unit and the slack of
//! rounding, under any importances: the proof is in `docs/algorithms/mad.md`. Users do not come in order, because each
//! step is a sum.

use std::sync::atomic::{AtomicU64, Ordering};

use dpsel_exact::Result;
use dpsel_exact::numeric::{FRACTION_BITS, UNIT};
use dpsel_rows::runtime::{WEIGHING, parallel};
use serde::{Deserialize, Serialize};

use super::histogram::WeightHistogram;
use super::order::Visits;
use super::spread::FULL_IMPORTANCE;
use super::spread::{scale, weight_at};

/// Bits of the fraction of an item's weight that is cut off.
const CUT_BITS: u32 = 50;
/// Fractional bits of the returned weight that a user puts on an item.
const RETURN_BITS: u32 = 60;

/// Weights of which the part beyond a limit returns to its givers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadWeights {
    /// The limit of an item, in grid steps. Of the weights that can return the part beyond it returns.
    pub limit: u64,
    /// The most items with a full importance of a user whose weights can return.
    pub most: u32,
    /// The most L2 norm by which adding a user moves the weights, in grid steps.
    pub norm: u64,
}

impl MadWeights {
    /// One unit and 1e-4 of a unit: more than rounding can do with up to 2^32 users and items.
    pub const NORM: u64 = UNIT + UNIT / 10_000;

    /// Bytes of an item while the weights are found.
    pub(super) const ITEM_BYTES: usize = 4 * size_of::<u64>();

    /// The weights of one round under these importances, one for each code; all of them are full if there are none.
    ///
    /// # Contract
    /// Adding a user moves the weights by an L2 distance of at most [`MadWeights::NORM`], as long as the importance of an item
    /// does not depend on the users.
    pub(super) fn weigh(
        self,
        visits: Visits<'_>,
        importances: Option<&[u16]>,
        histogram: &mut WeightHistogram,
    ) -> Result<()> {
        let charged = visits.charge(Self::ITEM_BYTES)?;
        let sums = MadSums::new(histogram.code_bound());
        let importance =
            |item: u32| importances.map_or(FULL_IMPORTANCE, |importances| importances[item as usize]);
        for_each_user(visits, |items| self.give(&MadUser::new(items, importance), &sums));
        visits.control.check()?;
        for_each_user(visits, |items| self.give_back(&MadUser::new(items, importance), &sums));
        visits.control.check()?;
        histogram.set((0..sums.firm.len()).map(|item| sums.weight(item, self)));
        visits.control.release_memory(charged);
        Ok(())
    }

    /// Whether the weights of a user with `full` items of full importance can return.
    fn adapts(self, full: u64) -> bool {
        (1..=u64::from(self.most)).contains(&full)
    }

    /// Each of a user's `full` items of full importance gets 4 parts in this number of the weight that returns to the
    /// user. Together they get at most lambda = 1/3 of it, and none gets more than kappa = 4 / (3 most).
    fn divisor(self, full: u64) -> u64 {
        3 * (4 * full).max(self.most.into())
    }

    /// Let one user give its weights.
    fn give<F: Fn(u32) -> u16>(self, user: &MadUser<'_, F>, sums: &MadSums) {
        let loose = self.adapts(user.full);
        for &item in user.items {
            let importance = (user.importance)(item);
            let sum = if loose && importance == FULL_IMPORTANCE { &sums.loose } else { &sums.firm };
            sum[item as usize].fetch_add(user.weight(importance), Ordering::Relaxed);
        }
    }

    /// Let one user put a part of its returned weight on its items.
    #[expect(clippy::cast_possible_truncation, reason = "at most a third of one unit")]
    fn give_back<F: Fn(u32) -> u16>(self, user: &MadUser<'_, F>, sums: &MadSums) {
        if !self.adapts(user.full) {
            return;
        }
        let full = || user.items.iter().copied().filter(|item| (user.importance)(*item) == FULL_IMPORTANCE);
        let cut: u128 = full().map(|item| u128::from(self.cut(sums.loose(item)))).sum();
        let back = u128::from(user.weight(FULL_IMPORTANCE)) * cut;
        let put = ((4 * back / u128::from(self.divisor(user.full)))
            >> (FRACTION_BITS + CUT_BITS - RETURN_BITS)) as u64;
        if put > 0 {
            full().for_each(|item| sums.put(item, put));
        }
    }

    /// The fraction that is cut off an item, rounded down.
    #[expect(clippy::cast_possible_truncation, reason = "a fraction")]
    fn cut(self, loose: u64) -> u64 {
        let beyond = u128::from(loose.saturating_sub(self.limit)) << CUT_BITS;
        // Otherwise: without weight nothing is cut off.
        beyond.checked_div(loose.into()).unwrap_or(0) as u64
    }
}

/// Weight that was put on an item in grid steps, rounded down.
#[expect(clippy::cast_possible_truncation, reason = "2^32 users put less than 2^31 units on an item")]
fn in_units(put: u128) -> u64 {
    (put >> (RETURN_BITS - FRACTION_BITS)) as u64
}

/// Show the kept items of every user, in no order.
fn for_each_user(visits: Visits<'_>, visit: impl Fn(&[u32]) + Sync) {
    let parts = visits.contributions.user_ranges(visits.contributions.threads(visits.control));
    // Every round shows the users twice.
    let tally = visits.control.tally(WEIGHING / 2, visits.contributions.users());
    parallel::map(parts.len(), parts, |users| {
        tally.each(users, |user| visit(visits.contributions.kept_items(user)));
    });
}

/// A user's items and how it spreads its unit of norm over them.
struct MadUser<'a, F> {
    items: &'a [u32],
    importance: F,
    /// The number of items with a full importance.
    full: u64,
    scale: u64,
}

impl<'a, F: Fn(u32) -> u16> MadUser<'a, F> {
    fn new(items: &'a [u32], importance: F) -> Self {
        let importances = || items.iter().map(|item| u64::from(importance(*item)));
        let full =
            importances().filter(|importance| *importance == u64::from(FULL_IMPORTANCE)).count() as u64;
        let scale = scale(importances().map(|importance| importance * importance).sum(), UNIT);
        Self { items, importance, full, scale }
    }

    /// Its weight for an item of this importance. The squares of all its weights sum to at most one.
    fn weight(&self, importance: u16) -> u64 {
        weight_at(importance.into(), self.scale)
    }
}

/// The sums of each item code.
#[derive(Debug)]
struct MadSums {
    /// Weights that never return.
    firm: Vec<AtomicU64>,
    /// Weights that return beyond the limit.
    loose: Vec<AtomicU64>,
    /// Returned weights that users put on it, in two halves, so that 2^32 numbers can be added.
    high: Vec<AtomicU64>,
    low: Vec<AtomicU64>,
}

impl MadSums {
    fn new(codes: usize) -> Self {
        let zeros = || (0..codes).map(|_| AtomicU64::new(0)).collect();
        Self { firm: zeros(), loose: zeros(), high: zeros(), low: zeros() }
    }

    fn loose(&self, item: u32) -> u64 {
        self.loose[item as usize].load(Ordering::Relaxed)
    }

    fn put(&self, item: u32, weight: u64) {
        self.high[item as usize].fetch_add(weight >> u32::BITS, Ordering::Relaxed);
        self.low[item as usize].fetch_add(weight & u64::from(u32::MAX), Ordering::Relaxed);
    }

    /// The weight of an item, when all is given and put.
    fn weight(&self, item: usize, mad: MadWeights) -> u64 {
        let load = |sum: &[AtomicU64]| sum[item].load(Ordering::Relaxed);
        let put = (u128::from(load(&self.high)) << u32::BITS) + u128::from(load(&self.low));
        load(&self.firm) + load(&self.loose).min(mad.limit) + in_units(put)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_put_on_items_satisfy_the_proof() {
        for most in 1..=400 {
            let mad = MadWeights { limit: UNIT, most, norm: MadWeights::NORM };
            let adaptive = || (0..1000).filter(|full| mad.adapts(*full));
            let lambda =
                adaptive().map(|full| 4.0 * full as f64 / mad.divisor(full) as f64).fold(0.0, f64::max);
            let kappa = adaptive().map(|full| 4.0 / mad.divisor(full) as f64).fold(0.0, f64::max);
            assert!(lambda > 0.3);
            let bound = |full: u64| lambda * (2.0 - lambda + kappa * full as f64);
            assert!(adaptive().all(|full| bound(full) <= 1.0 + 1e-12), "{most}");
        }
    }

    #[test]
    fn rounding_stays_within_the_norm() {
        // The proof's terms for 2^32 users and items and at most 400 items of an adaptive user.
        let (users, most) = (2_f64.powi(32), 400.0_f64);
        let (cut, put, last) =
            (users * most.sqrt() / 3.0 / 2_f64.powi(50), users * most / 2_f64.powi(60), 2_f64.powi(-14));
        assert!(1.0 + cut + put + last < MadWeights::NORM as f64 / UNIT as f64);
    }
}
