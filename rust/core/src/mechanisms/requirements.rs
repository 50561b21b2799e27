//! What several mechanisms share: which guarantees they refuse, and the noise of approximate zCDP.

use crate::Error;
use crate::rounding::{div_up, mul_down, sqrt_down};

/// The neighbouring relation of every mechanism here.
pub(super) const ADD_OR_REMOVE: &str = "add or remove one user with all its rows";

/// Pure differential privacy cannot release an item that nobody named in advance.
pub(super) fn no_pure_dp(mechanism: &str) -> Error {
    Error::Incompatible {
        what: format!(
            "{mechanism} finds items that nobody named in advance; that needs delta > 0, PureDP has none"
        ),
        fix: "use ApproxDP(epsilon=..., delta=...)",
    }
}

/// The Laplace mechanisms are accounted for in approximate DP only.
pub(super) fn no_laplace_zcdp(mechanism: &str) -> Error {
    Error::Incompatible {
        what: format!("{mechanism} uses Laplace noise, which has no tight guarantee in zCDP"),
        fix: "use a Gaussian mechanism (WeightedGaussian, Sips) with ZCDP, or ApproxDP with this one",
    }
}

/// A release curve holds at one order of the Renyi divergence.
pub(super) fn no_curve_zcdp(mechanism: &str) -> Error {
    Error::Incompatible {
        what: format!("{mechanism} decides by a release curve, which has no guarantee in zCDP"),
        fix: "use ApproxDP(epsilon=..., delta=...), or Gaussian noise (release=\"noise\")",
    }
}

/// 1/sqrt(2 rho), rounded up: the noise of rho-zCDP for L2 sensitivity 1 (Bun and Steinke 2016, Proposition 1.6).
pub(super) fn zcdp_sigma(rho: f64) -> f64 {
    div_up(1.0, sqrt_down(mul_down(2.0, rho)))
}
