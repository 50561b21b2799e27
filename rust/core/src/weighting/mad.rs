//! Adaptive weights: what items have beyond a limit goes back to the users who gave it, and from them to all of their items.
//!
//! Users of 4 to [`Mad::most`] items are *adaptive*. They first give 1/k to each of their k items; what an item has of this
//! beyond the limit is cut off and returned to its givers in proportion; each puts a fixed part of what it gets back on its items.
//! At last every user adds what is missing to 1/sqrt(k). Adding a user moves the weights by an L2 distance of at most one unit and the
//! slack of rounding; the proof is in `docs/algorithms/mad.md`. Users do not come in order: each step is a sum.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::order::Visits;
use super::{FRACTION_BITS, UNIT, WeightHistogram, Weighting};
use crate::{Result, parallel};

/// Users with fewer items are not adaptive.
pub(super) const FEWEST: u32 = 4;
/// The part of what returns that is put on items is a multiple of 1 over this.
const PARTS: u128 = 1 << 10;
/// Bits of the fraction that is cut off an item.
const CUT_BITS: u32 = 50;
/// Bits of what returns to a user.
const RETURN_BITS: u32 = 60;

/// Weights that return what items do not need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mad {
    /// What an item has of first weights beyond this returns, in integer units.
    pub limit: u64,
    /// The most items of an adaptive user, at least 7.
    pub most: u32,
    /// The most L2 norm by which adding a user moves the weights, in integer units.
    pub norm: u64,
}

impl Mad {
    /// One unit and 1e-4 of a unit: more than rounding can do with up to 2^32 users and items.
    pub const NORM: u64 = UNIT + UNIT / 10_000;

    /// What a user gives to each of its items at first.
    fn first_weight(self, items: u32) -> u64 {
        if (FEWEST..=self.most).contains(&items) { UNIT / u64::from(items) } else { 0 }
    }

    /// The largest part lambda of what returns, in units of 1 / [`PARTS`], with lambda <= 1 - (1 + lambda^2) / (2 sqrt(most)).
    fn part(self) -> u128 {
        let fits = |part: u128| {
            (PARTS * PARTS + part * part).pow(2)
                <= 4 * u128::from(self.most) * (PARTS * (PARTS - part)).pow(2)
        };
        (0..=PARTS).rev().find(|part| fits(*part)).unwrap_or(0)
    }

    /// The weights of one round.
    ///
    /// # Contract
    /// Adding a user moves the weights by an L2 distance of at most [`Mad::NORM`].
    pub(super) fn weigh(self, visits: Visits<'_>, histogram: &mut WeightHistogram) -> Result<()> {
        let charged = visits.charge(4 * size_of::<u64>())?;
        let (contributions, control) = (visits.contributions, visits.control);
        let codes = histogram.code_bound();
        histogram.weigh_by(contributions, |k| self.first_weight(k), control)?;
        let first: Vec<u64> = histogram.weights(0..codes).collect();
        let back = Returned::new(codes);
        let parts = contributions.user_ranges(control);
        parallel::map(parts.len(), parts, |users| {
            for user in users {
                self.give_back(contributions.kept_items(user), &first, &back);
            }
        });
        control.check()?;
        histogram.weigh(contributions, Weighting::EqualL2, control)?;
        let whole: Vec<u64> = histogram.weights(0..codes).collect();
        let part = self.part();
        histogram.set(first.iter().zip(&whole).zip(back.sums()).map(|((first, whole), back)| {
            whole - first.saturating_sub(self.limit) + self.put_on(back, part)
        }));
        control.release_memory(charged);
        Ok(())
    }

    /// Let one user get back what its items do not need.
    #[expect(clippy::cast_possible_truncation, reason = "at most one unit returns to a user")]
    fn give_back(self, items: &[u32], first: &[u64], back: &Returned) {
        let weight = self.first_weight(u32::try_from(items.len()).unwrap_or(u32::MAX));
        if weight == 0 {
            return;
        }
        let cut: u128 = items.iter().map(|item| u128::from(self.cut(first[*item as usize]))).sum();
        let returned = ((u128::from(weight) * cut) >> (FRACTION_BITS + CUT_BITS - RETURN_BITS)) as u64;
        if returned > 0 {
            for &item in items {
                back.add(item, returned);
            }
        }
    }

    /// The fraction that is cut off an item of this first weight, rounded down.
    #[expect(clippy::cast_possible_truncation, reason = "a fraction")]
    fn cut(self, first: u64) -> u64 {
        let beyond = u128::from(first.saturating_sub(self.limit)) << CUT_BITS;
        beyond.checked_div(first.into()).unwrap_or(0) as u64
    }

    /// What an item gets whose holders got so much back in all, in integer units.
    #[expect(clippy::cast_possible_truncation, reason = "less than all first weights together")]
    fn put_on(self, returned: u128, part: u128) -> u64 {
        ((returned * part / (PARTS * u128::from(self.most))) >> (RETURN_BITS - FRACTION_BITS)) as u64
    }
}

/// What returned to the holders of each item, in two halves, so that 2^32 of them can be added.
struct Returned {
    high: Vec<AtomicU64>,
    low: Vec<AtomicU64>,
}

impl Returned {
    fn new(codes: usize) -> Self {
        let zeros = || (0..codes).map(|_| AtomicU64::new(0)).collect();
        Self { high: zeros(), low: zeros() }
    }

    fn add(&self, item: u32, returned: u64) {
        self.high[item as usize].fetch_add(returned >> u32::BITS, Ordering::Relaxed);
        self.low[item as usize].fetch_add(returned & u64::from(u32::MAX), Ordering::Relaxed);
    }

    fn sums(&self) -> impl Iterator<Item = u128> + '_ {
        let whole = |sum: &AtomicU64| u128::from(sum.load(Ordering::Relaxed));
        self.high.iter().zip(&self.low).map(move |(high, low)| (whole(high) << u32::BITS) + whole(low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_is_put_on_items_satisfies_the_proof() {
        for most in 7..=200 {
            let part = Mad { limit: UNIT, most, norm: Mad::NORM }.part() as f64 / PARTS as f64;
            let bound = |part: f64| 1.0 - (1.0 + part * part) / (2.0 * f64::from(most).sqrt());
            assert!(part <= bound(part) && part + 1.0 / 1024.0 > bound(part + 1.0 / 1024.0), "{most}");
            // The other end of the proof's range.
            assert!(0.75 >= (4.0 * part + part * part) / f64::from(most), "{most}");
        }
        let part = Mad { limit: UNIT, most: 50, norm: Mad::NORM }.part();
        assert!((880..=900).contains(&part), "{part}");
    }
}
