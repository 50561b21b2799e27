//! How scores steer the users' weights. The guarantee holds for any such values. They only affect which items are
//! released.

use dpsel_exact::numeric::UNIT;

/// The distance of the futility bound below the expected path, in standard deviations of the noise not known yet.
const FUTILITY: f64 = 3.0;
/// The power of F in the expected path T F^1.5. It is above 1 because weights grow as other items leave.
const GROWTH: f64 = 1.5;
/// The distance of the target above the threshold, in standard deviations of the remaining noise.
const MARGIN: f64 = 2.0;
/// The distance of the settled bound above the threshold, in standard deviations of all noise. An item there falls
/// below the threshold with a probability below 1e-15.
const SETTLED: f64 = 8.0;

/// The bounds of the scores after a part of the budget, in grid steps.
pub(super) struct ScoreBounds {
    pub(super) futility_bound: i64,
    pub(super) expected_path: i64,
    pub(super) target: i64,
    pub(super) settled_bound: i64,
}

/// The bounds for a threshold and all noise of a score, both in units, after the part `spent` of the budget.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
pub(super) fn steering(threshold: f64, sigma: f64, spent: f64) -> ScoreBounds {
    let units = |weight: f64| (weight * UNIT as f64).round() as i64;
    let left = 1.0 - spent;
    let expected_path = threshold * libm::pow(spent, GROWTH);
    let futility_bound = expected_path - FUTILITY * sigma * (spent * left).sqrt();
    ScoreBounds {
        futility_bound: units(futility_bound),
        expected_path: units(expected_path),
        target: units(threshold + MARGIN * sigma * left.sqrt()),
        settled_bound: units(threshold + SETTLED * sigma),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steering_ends_at_the_threshold() {
        let ScoreBounds { futility_bound, expected_path, target, settled_bound } = steering(12.0, 2.0, 1.0);
        assert_eq!([futility_bound, expected_path, target, settled_bound - (16 << 30)], [12 << 30; 4]);
        let ScoreBounds { futility_bound, expected_path, target, settled_bound } = steering(12.0, 2.0, 0.25);
        assert!(futility_bound < 0 && expected_path == 3 << 29);
        assert!(target > 15 << 30 && settled_bound == 28 << 30);
    }
}
