//! Refusals of guarantees, and the noise of approximate zCDP, for several mechanisms.

use dpsel_exact::accounting::{L0Bound, RELEASE_SLACK};
use dpsel_exact::numeric::{add_up, div_up, mul_down, mul_up, sqrt_down, sub_down};
use dpsel_exact::{Error, Result};

use dpsel_exact::numeric::UNIT;

/// The neighbouring relation of every mechanism here.
pub(in crate::mechanisms) const ADD_OR_REMOVE: &str = "add or remove one user with all its rows";

/// Pure differential privacy cannot release an item that nobody named in advance.
pub(crate) fn no_pure_dp(mechanism: &str) -> Error {
    Error::Incompatible {
        what: format!(
            "{mechanism} finds items that nobody named in advance; that needs delta > 0, PureDP has none"
        ),
        fix: "use ApproxDP(epsilon=..., delta=...)",
    }
}

/// The Laplace mechanisms are accounted for in approximate DP only.
pub(in crate::mechanisms) fn no_laplace_zcdp(mechanism: &str) -> Error {
    Error::Incompatible {
        what: format!("{mechanism} uses Laplace noise, which has no tight guarantee in zCDP"),
        fix: "use a Gaussian mechanism (WeightedGaussian, Sips) with ZCDP, or ApproxDP with this one",
    }
}

/// A release curve holds at one order of the Renyi divergence.
pub(in crate::mechanisms) fn no_curve_zcdp(mechanism: &str) -> Error {
    curve_in_zcdp(mechanism, "use ApproxDP(epsilon=..., delta=...), or Gaussian noise (release=\"noise\")")
}

/// The same, of a mechanism that has no noise to choose instead.
pub(in crate::mechanisms) fn no_zcdp_without_noise(mechanism: &str) -> Error {
    let fix = "use ApproxDP(epsilon=..., delta=...), or a mechanism with Gaussian noise, such as Steered";
    curve_in_zcdp(mechanism, fix)
}

fn curve_in_zcdp(mechanism: &str, fix: &'static str) -> Error {
    let what = format!("{mechanism} decides by a release curve, which has no guarantee in zCDP");
    Error::Incompatible { what, fix }
}

/// 1/sqrt(2 rho), rounded up: the noise of rho-zCDP for L2 sensitivity 1 (Bun and Steinke 2016, Proposition 1.6).
pub(in crate::mechanisms) fn zcdp_sigma(rho: f64) -> f64 {
    div_up(1.0, sqrt_down(mul_down(2.0, rho)))
}

/// The part of delta reserved for the finite precision of noisy weights that are used as values, not only compared with
/// a threshold.
const RESERVE: f64 = 1.0 / (1 << 20) as f64;

/// The largest part of delta that is reserved where finite precision costs more than [`RESERVE`].
const LARGEST_RESERVE: f64 = 1.0 / 1024.0;
/// What is reserved then, in multiples of the cost at the usual reserve: with less delta the noise, and so its cost, is
/// a little larger.
const MARGIN: f64 = 1.25;

/// What mends a delta that is below what noise resolves.
pub(in crate::mechanisms) const TOO_FINE: &str =
    "lower epsilon, rounds or max_items_per_user, or raise delta";

/// A calibration with noisy values, for what a reserve for their finite precision leaves of delta.
///
/// `calibrate` returns a calibration for a delta, and the total variation of its noise to exact noise, which costs
/// `factor` times as much. The reserve is the usual one, and where this is less than the cost, a larger one.
///
/// # Contract
/// The delta of the calibration and the cost add up to at most `delta`.
///
/// # Errors
/// [`Error::Calibration`] for a total variation above the limit of a release, or a cost above the largest reserve; the
/// errors of `calibrate`.
pub(crate) fn with_reserve<T>(
    delta: f64,
    factor: f64,
    calibrate: impl Fn(f64) -> Result<(T, f64)>,
) -> Result<T> {
    let left = |reserve: f64| calibrate(sub_down(delta, reserve));
    let is_within = |slack: f64, reserve| slack <= RELEASE_SLACK && mul_up(slack, factor) <= reserve;
    let usual = mul_down(delta, RESERVE);
    let (found, slack) = left(usual)?;
    if is_within(slack, usual) {
        return Ok(found);
    }
    let largest = mul_down(delta, LARGEST_RESERVE);
    let refused = || Error::Calibration {
        what: format!("delta = {delta:e}, below what noise of 128 bits resolves here"),
        fix: TOO_FINE,
    };
    if !is_within(slack, largest) {
        return Err(refused());
    }
    let reserve = mul_up(mul_up(slack, factor), MARGIN).min(largest);
    let (found, slack) = left(reserve)?;
    if is_within(slack, reserve) { Ok(found) } else { Err(refused()) }
}

/// The total variation that finite precision costs in one round whose noisy weights are used as values.
///
/// Each value of the noise is exact up to 2^-128, and one user changes the weights of at most `bound` items
/// (`docs/algorithms/noise.md`).
pub(crate) fn value_slack(sigma: f64, bound: L0Bound) -> f64 {
    let values = add_up(mul_up(mul_up(28.0, sigma), UNIT as f64), 4.0);
    mul_up(mul_up(values, f64::from(bound.get())), 1.0 / 2_f64.powi(128))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reserve of a calibration whose noise has this total variation: what is missing of delta.
    fn reserve(delta: f64, factor: f64, slack: f64) -> Result<f64> {
        with_reserve(delta, factor, |left| Ok((delta - left, slack)))
    }

    #[test]
    fn the_reserve_is_what_finite_precision_costs_up_to_a_part_of_delta() {
        let delta = 2_f64.powi(-10);
        let (usual, largest) = (delta * RESERVE, delta * LARGEST_RESERVE);
        let near = |found: Result<f64>, reserve: f64| (found.unwrap() / reserve - 1.0).abs() < 1e-9;
        for cost in [0.0, 0.5, 0.99] {
            assert!(near(reserve(delta, 1e30, cost * usual / 1e30), usual));
        }
        for cost in [1.01 * usual, 100.0 * usual] {
            assert!(near(reserve(delta, 1e30, cost / 1e30), 1.25 * cost));
        }
        assert!(near(reserve(delta, 1e30, 0.99 * largest / 1e30), largest));
        assert!(matches!(reserve(delta, 1e30, 1.01 * largest / 1e30), Err(Error::Calibration { .. })));
        assert!(matches!(reserve(0.5, 1.0, 1.01 * RELEASE_SLACK), Err(Error::Calibration { .. })));
    }

    /// The second calibration may have a little more noise, but not more than its reserve pays.
    #[test]
    fn a_cost_that_grows_beyond_the_reserve_is_refused() {
        let delta = 2_f64.powi(-10);
        let growing = |times: f64| {
            with_reserve(delta, 1e30, |left| {
                let is_first = delta - left < 1.5 * delta * RESERVE;
                Ok(((), if is_first { 4.0 } else { 4.0 * times } * delta * RESERVE / 1e30))
            })
        };
        assert!(growing(1.24).is_ok());
        assert!(matches!(growing(1.26), Err(Error::Calibration { .. })));
    }
}
