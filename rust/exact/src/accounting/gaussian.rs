//! Gaussian differential privacy: the exact trade between epsilon and delta of Gaussian noise.
//!
//! A Gaussian mechanism whose answer moves by at most `mu` standard deviations (Dong, Roth and Su, "Gaussian
//! differential privacy", 2022: it is mu-GDP) satisfies (epsilon, delta)-DP exactly for
//! delta >= dG(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
//! (Balle and Wang, "Improving the Gaussian mechanism", 2018, Theorem 8). An adaptive sequence of them is mu-GDP
//! with mu^2 the sum of the squares.

use std::f64::consts::PI;

use super::root;
use crate::numeric::{Interval, div_up, normal_tail};
use crate::{Error, Result};

/// dG(epsilon, mu), the hockey-stick divergence of order e^epsilon between N(mu, 1) and N(0, 1).
///
/// `epsilon` may be any real number, `mu >= 0`.
///
/// # Contract
/// The result encloses dG of every epsilon and mu in the arguments.
#[must_use]
pub fn delta(epsilon: Interval, mu: Interval) -> Interval {
    // dG falls in epsilon and grows in mu.
    let lo = delta_at(epsilon.hi(), mu.lo().max(0.0)).lo();
    Interval::new(lo, delta_upper(epsilon.lo(), mu.hi()))
}

/// An upper bound of dG at the two numbers.
#[must_use]
pub fn delta_upper(epsilon: f64, mu: f64) -> f64 {
    delta_at(epsilon, mu.max(0.0)).hi()
}

/// dG at two exact numbers, from two enclosures.
///
/// With a = epsilon/mu - mu/2 and b = a + mu the definition is tail(a) - e^epsilon tail(b); it cancels when mu is
/// small. There the second one is sharp: since phi(a) = e^epsilon phi(b), dG = phi(a) (R(a) - R(b)) with Mills' ratio
/// R = tail/phi, which is convex with R'(x) = x R(x) - 1. So dG lies between mu e^epsilon loss(b) and mu loss(a),
/// where loss(x) = phi(x) - x tail(x) falls in x.
fn delta_at(epsilon: f64, mu: f64) -> Interval {
    let eps = Interval::point(epsilon);
    if mu == 0.0 {
        return (-eps.exp_m1()).max(Interval::ZERO).clamp(0.0, 1.0);
    }
    if !mu.is_finite() {
        return Interval::new(0.0, 1.0);
    }
    let mu = Interval::point(mu);
    let centre = eps / mu;
    let half = mu * Interval::point(0.5);
    let (a, b) = (centre - half, centre + half);
    let growth = eps.exp();
    let definition = normal_tail(a) - growth * normal_tail(b);
    let tangent = Interval::new((mu * growth * loss(b.hi())).lo().max(0.0), (mu * loss(a.lo())).hi());
    let both = definition.clamp(0.0, 1.0).intersect(tangent.clamp(0.0, 1.0));
    if b.hi() < FAR_TAIL {
        return both;
    }
    // tail(b) is near the smallest number, and the exponential multiplies its error.
    both.intersect((density(a) * (mills(a) - mills(b))).clamp(0.0, 1.0))
}

/// Where tails come near the smallest positive number.
const FAR_TAIL: f64 = 36.0;

/// Mills' ratio tail(x) / phi(x) for x > 0, from the continued fraction 1/(x + 1/(x + 2/(x + ...))).
///
/// Cut off anywhere, the rest k/(x + ...) lies between 0 and k/x, so starting from that interval encloses the value.
fn mills(x: Interval) -> Interval {
    if x.lo() <= 1.0 {
        return Interval::new(0.0, f64::INFINITY);
    }
    let start = Interval::new(0.0, (Interval::point(17.0) / x).hi());
    let rest = (1..=16_u8).rev().fold(start, |rest, k| Interval::point(k.into()) / (x + rest));
    Interval::ONE / (x + rest)
}

/// The standard normal density.
fn density(x: Interval) -> Interval {
    let two_pi = Interval::new((2.0 * PI).next_down(), (2.0 * PI).next_up());
    (-(x.square() * Interval::point(0.5))).exp() / two_pi.sqrt()
}

/// phi(x) - x tail(x): the expected excess of a standard normal above x.
fn loss(x: f64) -> Interval {
    let x = Interval::point(x);
    (density(x) - x * normal_tail(x)).max(Interval::ZERO)
}

/// A number `mu`, close below the largest, with dG(epsilon, mu) <= `target`.
///
/// # Contract
/// dG(`epsilon`, mu) <= `target` holds in real numbers, and mu is within a relative 1e-6 of the largest (1e-12 unless
/// epsilon and target are both extreme).
///
/// # Errors
/// [`Error::Calibration`] if no positive number of `f64` does it.
pub fn largest_mu(epsilon: f64, target: f64) -> Result<f64> {
    let guess = approximate_mu(epsilon, target, 1e-13);
    // The guess is accurate to a few units in the last place and to the width of the enclosure: back off until certain.
    for bits in (12..=50).rev() {
        let mu = guess * (1.0 - 0.5_f64.powi(bits));
        if mu > 0.0 && mu.is_normal() && delta_upper(epsilon, mu) <= target {
            return Ok(mu);
        }
    }
    Err(Error::Calibration {
        what: format!("Gaussian noise at epsilon = {epsilon:e} and delta = {target:e}"),
        fix: "raise epsilon or delta",
    })
}

/// The mu with ln dG(epsilon, mu) within `tolerance` of ln target in plain arithmetic, for searches.
#[must_use]
pub fn approximate_mu(epsilon: f64, target: f64, tolerance: f64) -> f64 {
    let goal = libm::log(target);
    let gap = |log_mu: f64| libm::log(delta_at(epsilon, libm::exp(log_mu)).middle()) - goal;
    // mu is at least about epsilon / sqrt(2 ln(1/delta) + 2 epsilon) and at most that plus a few.
    let scale = libm::log(epsilon / (2.0 * (epsilon - goal)).sqrt()) - 1.0;
    let (mut lo, mut hi) = (scale.max(-700.0), (scale + 2.0).max(3.0));
    while gap(lo) > 0.0 && lo > -700.0 {
        lo -= 2.0;
    }
    while gap(hi) < 0.0 && hi < 700.0 {
        hi += 2.0;
    }
    libm::exp(root(gap, lo, hi, tolerance))
}

/// A standard deviation, close above the smallest, with which noise on an answer of L2 sensitivity 1 satisfies
/// (`epsilon`, `target`)-DP.
///
/// # Errors
/// As [`largest_mu`].
pub fn smallest_sigma(epsilon: f64, target: f64) -> Result<f64> {
    Ok(div_up(1.0, largest_mu(epsilon, target)?))
}

/// An upper bound of the mu of an adaptive sequence of rounds: the root of the sum of 1/sigma^2.
#[cfg(any(test, feature = "testing"))]
pub fn composed_mu(sigmas: impl IntoIterator<Item = f64>) -> f64 {
    let square = |sigma: f64| (Interval::ONE / Interval::point(sigma)).square();
    sigmas.into_iter().map(square).fold(Interval::ZERO, |a, b| a + b).sqrt().hi()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epsilon: f64, mu: f64) -> Interval {
        delta(Interval::point(epsilon), Interval::point(mu))
    }

    #[test]
    fn the_smallest_sigma_is_tight_at_extremes() {
        for epsilon in [1e-6, 1e-3, 0.1, 1.0, 5.0, 50.0] {
            for target in [1e-300, 1e-100, 1e-20, 1e-10, 1e-5, 0.1, 0.9] {
                let mu = largest_mu(epsilon, target).unwrap();
                assert!(at(epsilon, mu).hi() <= target, "{epsilon} {target}");
                assert!(at(epsilon, mu * (1.0 + 1e-6)).lo() > target, "{epsilon} {target}");
            }
        }
    }

    #[test]
    fn enclosures_are_narrow_and_both_sides_agree() {
        for epsilon in [-1.0, 0.0, 1e-6, 0.5, 3.0, 30.0] {
            for mu in [1e-8, 1e-4, 0.1, 1.0, 8.0] {
                let d = at(epsilon, mu);
                assert!(d.lo() <= d.hi() && d.hi() <= 1.0);
                if d.hi() > 1e-290 {
                    assert!((d.hi() - d.lo()) / d.hi() < 1e-3, "{epsilon} {mu} {d:?}");
                }
            }
        }
    }

    #[test]
    fn known_values() {
        // Balle and Wang: at (1, 1e-5) the standard deviation is 3.7306...; published papers round it to 3.73.
        assert!((smallest_sigma(1.0, 1e-5).unwrap() - 3.730_631_9).abs() < 1e-4);
        // At epsilon = 0 dG is the total variation 2 Phi(mu/2) - 1.
        assert!(at(0.0, 2.0).contains(0.682_689_492_137_085_9));
        assert_eq!(at(1.0, 0.0), Interval::ZERO);
        assert!(at(-1.0, 0.0).contains(1.0 - libm::exp(-1.0)));
    }

    #[test]
    fn rounds_compose() {
        assert!(composed_mu([2.0, 2.0, 2.0, 2.0]) >= 1.0);
        assert!(composed_mu([2.0, 2.0, 2.0, 2.0]) < 1.0 + 1e-14);
    }
}
