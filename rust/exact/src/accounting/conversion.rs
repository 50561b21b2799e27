//! From approximate zCDP to approximate differential privacy.
//!
//! Swanberg, Desfontaines and Haney (DP-SIPS, `PoPETs` 2023), Corollary 9, after Canonne, Kamath and Steinke (2020),
//! Proposition 7: delta0-approximate rho-zCDP implies (epsilon, delta0 + (1 - delta0) d)-DP where d is the infimum
//! over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha. Every alpha gives a
//! valid d, so alpha is found in plain arithmetic and d is then rounded up.
//!
//! Releases are within a total variation of [`RELEASE_SLACK`] each of mechanisms with the guarantee that they claim,
//! which adds (1 + e^epsilon) times as much to delta: `docs/algorithms/accounting.md`, section 8.

use serde::Serialize;

use super::{Privacy, RELEASE_SLACK, minimise};
use crate::numeric::Interval;
use crate::{Error, Result};

/// Attempts to find an epsilon at which the cost of finite precision is covered.
const ATTEMPTS: u32 = 64;

/// A guarantee of approximate differential privacy derived from approximate zCDP.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConvertedPrivacy {
    /// Epsilon, rounded up if it was computed.
    pub epsilon: f64,
    /// Delta, rounded up if it was computed.
    pub delta: f64,
    /// The order of the Renyi divergence that gives it.
    pub alpha: f64,
}

/// The smallest delta (up to rounding) for which `releases` releases of `delta`-approximate `rho`-zCDP in all are
/// (`epsilon`, delta)-DP.
///
/// # Errors
/// [`Error::InvalidParameter`] for parameters out of range.
pub fn delta_of_zcdp(rho: f64, delta: f64, epsilon: f64, releases: u32) -> Result<ConvertedPrivacy> {
    Privacy::Zcdp { rho, delta }.validate()?;
    Privacy::PureDp { epsilon }.validate()?;
    let log_gap = minimise(|s| log_delta(rho, epsilon, order(s)).middle(), -30.0, 60.0, 180, 60);
    let alpha = order(log_gap);
    let d = log_delta(rho, epsilon, alpha).exp();
    let slack = Interval::point(delta);
    let total = slack + (Interval::ONE - slack) * d + precision(epsilon, releases);
    Ok(ConvertedPrivacy { epsilon, delta: total.hi().min(1.0), alpha })
}

/// The smallest epsilon (up to rounding) for which `releases` releases of `delta`-approximate `rho`-zCDP in all are
/// (epsilon, `target`)-DP.
///
/// # Errors
/// [`Error::InvalidParameter`] for parameters out of range or a `target` not above `delta` and the cost of finite
/// precision.
pub fn epsilon_of_zcdp(rho: f64, delta: f64, target: f64, releases: u32) -> Result<ConvertedPrivacy> {
    Privacy::Zcdp { rho, delta }.validate()?;
    Privacy::Zcdp { rho, delta: target }.validate()?;
    let mut limit = 0.0;
    for _ in 0..ATTEMPTS {
        // Whatever epsilon is found up to the limit, finite precision costs no more than at the limit.
        let found = exact_epsilon(rho, delta, Interval::point(target) - precision(limit, releases), target)?;
        if found.epsilon <= limit || releases == 0 {
            return Ok(found);
        }
        limit = found.epsilon * (1.0 + 1e-12);
    }
    Err(not_above(target))
}

/// The amount that finite precision adds to delta.
fn precision(epsilon: f64, releases: u32) -> Interval {
    let slack = Interval::point(f64::from(releases)) * Interval::point(RELEASE_SLACK);
    slack * (Interval::ONE + Interval::point(epsilon).exp())
}

fn not_above(target: f64) -> Error {
    let rule = "above the delta of the zCDP guarantee and the cost of finite precision";
    Error::parameter("target_delta", rule, target, "raise target_delta or lower delta")
}

/// The epsilon for which exact zCDP costs `rest`, of the `target` that is reported.
fn exact_epsilon(rho: f64, delta: f64, rest: Interval, target: f64) -> Result<ConvertedPrivacy> {
    let slack = Interval::point(delta);
    let d = (rest - slack) / (Interval::ONE - slack);
    if d.lo() <= 0.0 {
        return Err(not_above(target));
    }
    let log_d = Interval::point(d.lo()).ln();
    let log_gap = minimise(|s| epsilon_at(rho, log_d, order(s)).middle(), -30.0, 60.0, 180, 60);
    let alpha = order(log_gap);
    Ok(ConvertedPrivacy { epsilon: epsilon_at(rho, log_d, alpha).hi().max(0.0), delta: target, alpha })
}

/// The largest rho (up to rounding) for which rho-zCDP implies (`epsilon`, `delta`)-DP, rounded down.
///
/// Every alpha > 1 allows rho = (epsilon + (ln delta - shape) / (alpha - 1)) / alpha, so the best one is taken and its
/// lower bound returned; 0 if there is none.
#[must_use]
pub fn largest_rho(epsilon: f64, delta: f64) -> f64 {
    let log_d = Interval::point(delta).ln();
    let at = |alpha: f64| {
        let (a, gap) = (Interval::point(alpha), Interval::point(alpha) - Interval::ONE);
        (Interval::point(epsilon) + (log_d - shape(a, gap)) / gap) / a
    };
    let log_gap = minimise(|s| -at(order(s)).middle(), -30.0, 60.0, 180, 60);
    at(order(log_gap)).lo().max(0.0)
}

/// alpha from ln(alpha - 1), always above 1 as a number.
fn order(log_gap: f64) -> f64 {
    (1.0 + libm::exp(log_gap)).max(1.0_f64.next_up())
}

/// ln of the delta that order alpha gives.
fn log_delta(rho: f64, epsilon: f64, alpha: f64) -> Interval {
    let (a, gap) = (Interval::point(alpha), Interval::point(alpha) - Interval::ONE);
    gap * (a * Interval::point(rho) - Interval::point(epsilon)) + shape(a, gap)
}

/// The epsilon that order alpha gives for ln delta = `log_d`.
fn epsilon_at(rho: f64, log_d: Interval, alpha: f64) -> Interval {
    let (a, gap) = (Interval::point(alpha), Interval::point(alpha) - Interval::ONE);
    a * Interval::point(rho) + (shape(a, gap) - log_d) / gap
}

/// alpha ln(1 - 1/alpha) - ln(alpha - 1).
fn shape(alpha: Interval, gap: Interval) -> Interval {
    alpha * (-(Interval::ONE / alpha)).ln_1p() - gap.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The figures that the paper prints are in `tests/known_answers/test_dp_sips_tables.py`.

    #[test]
    fn the_largest_rho_is_valid_and_tight() {
        for (epsilon, delta) in [(1.0, 1e-6), (0.01, 1e-12), (20.0, 1e-3), (1e-4, 1e-300)] {
            let rho = largest_rho(epsilon, delta);
            // The two searches end at orders that differ a little.
            let found = delta_of_zcdp(rho, f64::MIN_POSITIVE, epsilon, 0).unwrap().delta;
            assert!(found <= delta * (1.0 + 1e-6), "{found:e} above {delta:e} at {epsilon}");
            assert!(delta_of_zcdp(rho * 1.001, f64::MIN_POSITIVE, epsilon, 0).unwrap().delta > delta);
        }
    }

    #[test]
    fn both_directions_agree() {
        for (rho, slack, epsilon) in [(0.001, 1e-5, 0.14), (0.5, 1e-5, 4.41), (0.005, 1e-9, 0.62)] {
            for releases in [0, 1, 1000] {
                let there = delta_of_zcdp(rho, slack, epsilon, releases).unwrap();
                let back = epsilon_of_zcdp(rho, slack, there.delta, releases).unwrap();
                assert!((back.epsilon / epsilon - 1.0).abs() < 1e-9, "{back:?}");
            }
        }
        assert!(epsilon_of_zcdp(0.1, 1e-5, 1e-5, 0).is_err());
        assert!(delta_of_zcdp(0.1, 1e-5, f64::NAN, 0).is_err());
        for rho in [1e-12, 1e-6, 1.0, 100.0] {
            assert!(epsilon_of_zcdp(rho, 1e-300, 1e-10, 0).unwrap().epsilon.is_finite());
            assert!(delta_of_zcdp(rho, 1e-300, 1.0, 0).unwrap().delta <= 1.0);
        }
    }

    #[test]
    fn finite_precision_is_paid_for() {
        let delta = |releases| delta_of_zcdp(0.5, 1e-12, 20.0, releases).unwrap().delta;
        let cost = RELEASE_SLACK * (1.0 + 20_f64.exp());
        assert!(
            delta(1) - delta(0) >= cost * (1.0 - 1e-9) && delta(7) - delta(0) >= 7.0 * cost * (1.0 - 1e-9)
        );
        // A target that only an epsilon could meet at which precision alone costs more.
        let large = epsilon_of_zcdp(4.0, 1e-13, 1.01e-13, 0).unwrap().epsilon;
        assert!(large > 26.0);
        assert!(epsilon_of_zcdp(4.0, 1e-13, 1.01e-13, 1).is_err());
        let found = epsilon_of_zcdp(1.0, 1e-12, 1e-8, 3).unwrap();
        assert!(delta_of_zcdp(1.0, 1e-12, found.epsilon, 3).unwrap().delta <= 1e-8 * (1.0 + 1e-9));
    }
}
