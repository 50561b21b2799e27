//! Refusals of guarantees, and the noise of approximate zCDP, for several mechanisms.

use crate::accounting::{L0Bound, RELEASE_SLACK};
use crate::numeric::{add_up, div_up, mul_down, mul_up, sqrt_down, sub_down};
use crate::weighting::UNIT;
use crate::{Error, Result};

/// The neighbouring relation of every mechanism here.
pub(in crate::mechanisms) const ADD_OR_REMOVE: &str = "add or remove one user with all its rows";

/// Pure differential privacy cannot release an item that nobody named in advance.
pub(in crate::mechanisms) fn no_pure_dp(mechanism: &str) -> Error {
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
    Error::Incompatible {
        what: format!("{mechanism} decides by a release curve, which has no guarantee in zCDP"),
        fix: "use ApproxDP(epsilon=..., delta=...), or Gaussian noise (release=\"noise\")",
    }
}

/// 1/sqrt(2 rho), rounded up: the noise of rho-zCDP for L2 sensitivity 1 (Bun and Steinke 2016, Proposition 1.6).
pub(in crate::mechanisms) fn zcdp_sigma(rho: f64) -> f64 {
    div_up(1.0, sqrt_down(mul_down(2.0, rho)))
}

/// The part of delta reserved for the finite precision of noisy weights that are used as values, not only compared with
/// a threshold.
const RESERVE: f64 = 1.0 / (1 << 20) as f64;

/// `delta` less the reserve.
pub(in crate::mechanisms) fn without_reserve(delta: f64) -> f64 {
    sub_down(delta, mul_up(delta, RESERVE))
}

/// The total variation that finite precision costs in one round whose noisy weights are used as values.
///
/// Each value of the noise is exact up to 2^-128, and one user changes the weights of at most `bound` items
/// (`docs/algorithms/noise.md`).
pub(in crate::mechanisms) fn value_slack(sigma: f64, bound: L0Bound) -> f64 {
    let values = add_up(mul_up(mul_up(28.0, sigma), UNIT as f64), 4.0);
    mul_up(mul_up(values, f64::from(bound.get())), 1.0 / 2_f64.powi(128))
}

/// Refuse a total variation above the limit of a release, or whose cost, `factor` times as much, exceeds the reserve.
///
/// # Errors
/// [`Error::Calibration`].
pub(in crate::mechanisms) fn within_reserve(slack: f64, factor: f64, delta: f64) -> Result<()> {
    if slack <= RELEASE_SLACK && mul_up(slack, factor) <= mul_down(delta, RESERVE) {
        return Ok(());
    }
    Err(Error::Calibration {
        what: format!("delta = {delta:e}, below what noise of 128 bits resolves here"),
        fix: "lower epsilon, rounds or max_items_per_user, or raise delta",
    })
}
