//! The publication without noise check, for zCDP: one norm for all users, and caps that one threshold affords.

use dpsel_exact::Result;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::noise::Threshold;

use super::noise::RoundNoise;
use super::sizes::{per_root, sizes};
use crate::rounds::{NoiseCheck, Publish, UserSize};
use crate::threshold::calibration::smallest_threshold;
use dpsel_exact::numeric::UNIT;

use crate::weighting::Weighting;

/// The cap of a user of D0 items, in multiples of 1/sqrt(D0); at most one unit.
const EQUAL_WEIGHTS: f64 = 7.0;

/// The threshold for the largest users' cap, and the caps that the same threshold affords smaller users. A release of an
/// item that one user alone holds has at most the probability `delta`.
///
/// [`smallest_threshold`] finds the threshold for k items of weight 1. Only the difference of threshold and weight
/// matters, so for a weight w below 1 the threshold is lower by 1 - w. The threshold for weight 1 is kept at 1 or more:
/// above the weight, rounding sigma up cannot lower the tail.
pub(super) fn publication(bound: L0Bound, noise: &RoundNoise, delta: f64) -> Result<Publish> {
    let score_noise = noise.of_score();
    let unit = UNIT.cast_signed();
    let for_units = |items: u32| {
        let bound = L0Bound::new(items.into())?;
        Ok(smallest_threshold(score_noise, Weighting::Count, bound, delta)?.steps().max(unit))
    };
    let threshold = for_units(bound.get())? - unit + least_cap(bound);
    let size = |items: u32| {
        let cap = (threshold - for_units(items)? + unit).clamp(0, unit);
        Ok(UserSize { items, norm: UNIT, cap: cap.unsigned_abs() })
    };
    let sizes = sizes(bound).into_iter().map(size).collect::<Result<_>>()?;
    let threshold = Threshold::from_steps(threshold);
    Ok(Publish { threshold, score_noise, noise_check: NoiseCheck::Absent, sizes })
}

/// The cap of users with all the items they may have, in grid steps.
#[expect(clippy::cast_possible_truncation, reason = "at most one unit")]
fn least_cap(bound: L0Bound) -> i64 {
    (per_root(EQUAL_WEIGHTS, bound.get()) * UNIT as f64) as i64
}
