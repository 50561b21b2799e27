//! How scores steer the users' weights. The guarantee holds for any such values. They only affect which items are
//! released.

use crate::weighting::UNIT;

/// The distance of the futility bound below the expected path, in standard deviations of the noise not known yet.
const FUTILITY: f64 = 3.0;
/// The power of F in the expected path T F^1.5. It is above 1 because weights grow as other items leave.
const GROWTH: f64 = 1.5;
/// The distance of the target above the threshold, in standard deviations of the remaining noise.
const MARGIN: f64 = 2.0;

/// The futility bound, the expected path and the target after a part of the budget.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
pub(super) fn steering(threshold: f64, sigma: f64, spent: f64) -> [i64; 3] {
    let units = |weight: f64| (weight * UNIT as f64).round() as i64;
    let left = 1.0 - spent;
    let expected_path = threshold * libm::pow(spent, GROWTH);
    let futility_bound = expected_path - FUTILITY * sigma * (spent * left).sqrt();
    [futility_bound, expected_path, threshold + MARGIN * sigma * left.sqrt()].map(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steering_ends_at_the_threshold() {
        assert_eq!(steering(12.0, 2.0, 1.0), [12 << 30; 3]);
        let [futility_bound, expected_path, target] = steering(12.0, 2.0, 0.25);
        assert!(futility_bound < 0 && expected_path == 3 << 29 && target > 15 << 30);
    }
}
