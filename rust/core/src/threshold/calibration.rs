//! From delta to a threshold: the smallest integer at which an item that one user alone holds stays within delta.
//!
//! A user with t bounded items, all of them novel (held by nobody else), gives each the weight `w_t`. Each is released
//! independently with probability tail(T - `w_t`), so some novel item is released with probability
//! 1 - (1 - tail(T - `w_t))^t`. A user of k items of which t are novel gives them less, `w_k` <= `w_t`. The threshold
//! holds the maximum over t = 1..D0 at or below delta. Where the maximum lies is not assumed: ranges of t are bounded
//! by their monotone corners and split until every range is certified.
//!
//! Proofs: `docs/algorithms/accounting.md`.

mod single_round;

pub use single_round::{calibrate_single_round, gaussian_noise, single_round_holds};

use dpsel_exact::accounting::{L0Bound, root};
use dpsel_exact::noise::{Noise, Threshold};
use dpsel_exact::numeric::{Interval, UNIT, laplace_tail, normal_tail};
use dpsel_exact::{Error, Result};

use crate::weighting::Weighting;

/// Thresholds and weights of one round stay below this many grid steps, so that sums with noise fit an `i64`.
const LARGEST_STEPS: f64 = (1_u64 << 61) as f64;

/// Ranges tried before a threshold counts as not certified: more than ten times the number that any tested request
/// needed.
const MOST_RANGES: u32 = 20_000;

/// P[N >= `steps`] of the noise N, which is X rounded down to grid steps: P[X >= steps / 2^30].
///
/// # Contract
/// Encloses the probability.
#[must_use]
pub fn noise_tail(noise: Noise, steps: i128) -> Interval {
    let weight = Interval::integer(steps) * Interval::point(1.0 / UNIT as f64);
    match noise {
        Noise::Gaussian { sigma } => normal_tail(weight / Interval::point(sigma)),
        Noise::Laplace { scale } => laplace_tail(weight / Interval::point(scale)),
    }
}

/// Whether no configuration of a user with at most `bound` items makes the release of a novel item likelier than
/// `delta`.
///
/// # Contract
/// `true` is certified: max over t of 1 - (1 - P[`w_t` + N >= T])^t <= `delta` in real numbers. `false` says that it
/// fails or could not be certified.
#[must_use]
pub fn novel_items_within(
    noise: Noise,
    weighting: Weighting,
    bound: L0Bound,
    threshold: Threshold,
    delta: f64,
) -> bool {
    // 1 - (1 - q)^t <= delta iff t (-ln(1 - q)) <= -ln(1 - delta).
    let allowed = (-(-Interval::point(delta)).ln_1p()).lo();
    let at_most = |t: u32, weight: u64| {
        let q = noise_tail(noise, i128::from(threshold.steps()) - i128::from(weight));
        (Interval::integer(t.into()) * -(-Interval::point(q.hi())).ln_1p()).hi()
    };
    let certify = |first: u32, last: u32| at_most(last, weighting.weight(first)) <= allowed;
    // The maximum is nearly always at one of the ends: refuse quickly.
    let d0 = bound.get();
    if !certify(1, 1) || !certify(d0, d0) {
        return false;
    }
    let mut ranges = vec![(1, d0)];
    let mut seen = 0;
    while let Some((first, last)) = ranges.pop() {
        seen += 1;
        if certify(first, last) {
            continue;
        }
        if first == last || seen > MOST_RANGES {
            return false;
        }
        let middle = geometric_middle(first, last);
        ranges.push((first, middle));
        ranges.push((middle + 1, last));
    }
    true
}

/// The smallest threshold at which [`novel_items_within`] certifies `delta`.
///
/// # Contract
/// The condition holds at the result and is not certified one grid step lower.
///
/// # Errors
/// [`Error::Calibration`] if it does not fit the grid steps.
pub fn smallest_threshold(
    noise: Noise,
    weighting: Weighting,
    bound: L0Bound,
    delta: f64,
) -> Result<Threshold> {
    let holds = |steps: i64| novel_items_within(noise, weighting, bound, Threshold::from_steps(steps), delta);
    let guess = approximate_threshold(noise, weighting, bound, delta) * UNIT as f64;
    if !guess.is_finite() || guess.abs() >= LARGEST_STEPS {
        return Err(too_large());
    }
    #[allow(clippy::cast_possible_truncation)] // checked above
    let guess = guess.ceil() as i64;
    let (mut fails, mut good) = bracket(guess, holds).ok_or_else(too_large)?;
    while good - fails > 1 {
        let middle = fails + (good - fails) / 2;
        if holds(middle) { good = middle } else { fails = middle }
    }
    Ok(Threshold::from_steps(good))
}

/// Grid steps (fails, holds) around the guess, found by doubling the distance.
fn bracket(guess: i64, holds: impl Fn(i64) -> bool) -> Option<(i64, i64)> {
    let start = holds(guess);
    let direction = if start { -1 } else { 1 };
    let mut previous = guess;
    for doubling in 0..62 {
        let next = guess.checked_add(direction * (1_i64 << doubling))?;
        if holds(next) != start {
            return Some(if start { (next, previous) } else { (previous, next) });
        }
        previous = next;
    }
    None
}

fn too_large() -> Error {
    Error::Calibration {
        what: "a threshold below 2^31 units of weight".into(),
        fix: "raise epsilon, rho or delta, or lower max_items_per_user",
    }
}

/// The threshold in plain arithmetic, in units of weight: a guess to start from and an objective for searches.
pub(crate) fn approximate_threshold(noise: Noise, weighting: Weighting, bound: L0Bound, delta: f64) -> f64 {
    let d0 = bound.get();
    let at = |t: u32| {
        let q = -libm::expm1(libm::log1p(-delta) / f64::from(t));
        weighting.weight(t) as f64 / UNIT as f64 + upper_quantile(noise, q)
    };
    // The ends are where the maximum nearly always is; between them a few are enough for a guess.
    (0..24).map(|e| 1_u32 << e).take_while(|t| *t < d0).chain([d0]).map(at).fold(f64::NEG_INFINITY, f64::max)
}

/// The x with P[X >= x] = q.
pub(crate) fn upper_quantile(noise: Noise, q: f64) -> f64 {
    match noise {
        Noise::Gaussian { sigma } => sigma * normal_upper_quantile(q),
        Noise::Laplace { scale } if q <= 0.5 => -scale * libm::log(2.0 * q),
        Noise::Laplace { scale } => scale * libm::log(2.0 * (1.0 - q)),
    }
}

/// The z with P[Z >= z] = q of a standard normal Z.
fn normal_upper_quantile(q: f64) -> f64 {
    if q > 0.5 {
        return -normal_upper_quantile(1.0 - q);
    }
    let goal = libm::log(q);
    let tail = |z: f64| 0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2);
    // Newton's method on ln tail, concave and nearly parabolic: from a start above the root it converges at once.
    let mut z = (-2.0 * goal).sqrt().min(37.0);
    for _ in 0..20 {
        let p = tail(z);
        let density = libm::exp(-0.5 * z * z) * 0.398_942_280_401_432_7;
        let step = (libm::log(p) - goal) * p / density;
        z += step;
        if step.abs() <= 1e-15 * z.abs().max(1e-3) {
            return z;
        }
    }
    if z.is_finite() { z } else { root(|z| goal - libm::log(tail(z)), 0.0, 40.0, 1e-13) }
}

/// A number in `first..last` that halves the range on a logarithmic scale.
#[expect(clippy::cast_possible_truncation, reason = "the root of 64 bits has 32")]
fn geometric_middle(first: u32, last: u32) -> u32 {
    let product = u64::from(first) * u64::from(last);
    (product.isqrt() as u32).clamp(first, last - 1)
}

#[cfg(test)]
mod tests;
