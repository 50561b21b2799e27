//! From (epsilon, delta) to curves.

use dpsel_exact::accounting::gaussian::approximate_mu;
use dpsel_exact::accounting::{L0Bound, minimise};
use dpsel_exact::numeric::{UNIT, div_up, mul_down, sqrt_up, sub_down};
use dpsel_exact::{Error, Result};

use super::kind::{CurveKind, CurveSpec};
use super::region::divergence_beside;
use super::words::Curve;
use crate::weighting::Weighting;

/// The most quanta that one unit of weight is divided into for precision alone.
const FINEST: f64 = 256.0;
/// About how many quanta it should take until a release is likelier than not, if that is enough for precision.
const QUANTA_TO_HALF: f64 = 4_000.0;
/// The fewest quanta of one unit, however long the table becomes.
const COARSEST: f64 = 64.0;

/// The same three for L1 curves and for continuous ones, whose straight lines cost more where quanta are coarse.
const L1_FINEST: f64 = 2048.0;
const L1_QUANTA_TO_HALF: f64 = 12_000.0;
const CONTINUOUS_FINEST: f64 = 512.0;
const CONTINUOUS_QUANTA_TO_HALF: f64 = 8_000.0;

/// The largest weights of even odds for which a table is made, of parts of a unit and of whole units: it takes minutes
/// beyond.
const FARTHEST_HALF: f64 = 8_000.0;
const FARTHEST_WHOLE_HALF: f64 = 32_000.0;

/// The largest delta for which continuous curves have a region. Beyond the bottom they spend divergence alone; where
/// delta is large, this is little, and they would rise much later than with one point.
const MOST_REGION_DELTA: f64 = 1e-3;

/// The L1 curve that is (`epsilon`, `delta`)-DP for weights of L1 norm at most 1 in multiples of the quantum.
///
/// # Errors
/// [`Error::Calibration`] if parameters are out of range or the table would be too large.
pub fn l1_curve(epsilon: f64, delta: f64, quantum: u64) -> Result<CurveSpec> {
    with_half(CurveKind::L1 { epsilon, delta }, quantum)
}

/// The curve that is (`adding`, `delta`)-DP for adding one whole unit, and (`removing`, `delta`)-DP for removing it.
///
/// # Errors
/// [`Error::Calibration`] if parameters are out of range or the table would be too large.
pub fn one_unit_curve(adding: f64, removing: f64, delta: f64) -> Result<CurveSpec> {
    with_half(CurveKind::OneUnit { adding, removing, delta }, UNIT)
}

/// The L2 curve of a single round that is (`epsilon`, `delta`)-DP for weights of L2 norm at most 1.
///
/// # Errors
/// As [`l2_curves`].
pub fn l2_curve(weighting: Weighting, bound: L0Bound, epsilon: f64, delta: f64) -> Result<CurveSpec> {
    let contribution = weighting.weight(bound.get());
    let half = approximate_half(epsilon, delta, 1.0);
    let farthest = if contribution < UNIT { FARTHEST_HALF } else { FARTHEST_WHOLE_HALF };
    if half > farthest {
        return Err(too_long(farthest));
    }
    let alpha = best_order(epsilon, delta, contribution);
    with_half(CurveKind::L2Region { alpha, epsilon, delta }, quantum(contribution, half))
}

/// One L2 curve for each round, which together are (`epsilon`, `delta`)-DP for weights of L2 norm at most 1 in each
/// round.
///
/// The `shares` of the rounds add up to at most 1. The quantum divides the weight of a user of `bound` items nearly
/// evenly: that is where rounding would cost most.
///
/// # Contract
/// delta >= d1 + (1 - d1) d2, where the rounds' approximations add up to at most d1, and their divergences convert to
/// d2 at `epsilon`. Both are rounded down.
///
/// # Errors
/// [`Error::Calibration`] if no order does, or the table would be too large.
pub fn l2_curves(
    weighting: Weighting,
    bound: L0Bound,
    epsilon: f64,
    delta: f64,
    shares: &[f64],
) -> Result<Vec<CurveSpec>> {
    // Otherwise: no rounds, for which there is no curve.
    let last = shares.last().copied().unwrap_or(1.0);
    let contribution = weighting.weight(bound.get());
    let smallest = shares.iter().copied().fold(last, f64::min);
    let farthest = if contribution < UNIT { FARTHEST_HALF } else { FARTHEST_WHOLE_HALF };
    if approximate_half(epsilon, delta, smallest) > farthest {
        return Err(too_long(farthest));
    }
    let CurveProposal { alpha, part } = best(epsilon, delta, last, contribution);
    let (divergence, delta) = budget(epsilon, delta, alpha, part).ok_or_else(no_order)?;
    let curve = |&share: &f64| {
        let half = approximate_half(epsilon, delta, share);
        let (divergence, delta) = (mul_down(divergence, share), mul_down(delta, share));
        with_half(CurveKind::L2 { alpha, divergence, delta }, quantum(contribution, half))
    };
    shares.iter().map(curve).collect()
}

/// The least gain of the last unit of weight, as a part of the average gain so far. Weight that an item does not take
/// goes to other items, about half of which never get enough.
const WORTH: f64 = 0.5;

/// The weight, in grid steps, up to which an item should be filled where weight is scarce. It is the least weight from
/// even odds on after which more weight gains less than half of the average gain so far.
///
/// # Errors
/// As [`Curve::of`].
pub(crate) fn worthwhile_weight(spec: &CurveSpec) -> Result<u64> {
    let curve = Curve::of(spec.curve, spec.quantum)?;
    let gain = |weight: u64| curve.probability(weight + spec.quantum) - curve.probability(weight);
    let mut weight = spec.half.max(UNIT).next_multiple_of(spec.quantum);
    let average = |weight: u64| curve.probability(weight) / (weight / spec.quantum) as f64;
    while gain(weight) > WORTH * average(weight) {
        weight += spec.quantum;
    }
    Ok(weight)
}

/// The continuous L2 curve that is (`epsilon`, `delta`)-DP where a user moves the weights by an L2 norm of at most
/// `norm` grid steps.
///
/// # Errors
/// [`Error::Calibration`] if no order does, or the table would be too large.
pub fn l2_continuous_curve(epsilon: f64, delta: f64, norm: u64) -> Result<CurveSpec> {
    let half = approximate_half(epsilon, delta, 1.0);
    if half > FARTHEST_HALF {
        return Err(too_long(FARTHEST_HALF));
    }
    if delta > MOST_REGION_DELTA {
        return Ok(continuous(epsilon, delta, 1.0, norm)?.1);
    }
    let alpha = best_order(epsilon, delta, 1);
    let curve = CurveKind::L2ContinuousRegion { alpha, epsilon, delta, norm };
    // Straight lines may need one approximation for all changes where a norm has few quanta or the order is small.
    with_half(curve, continuous_quantum(half)).or_else(|_| Ok(continuous(epsilon, delta, 1.0, norm)?.1))
}

/// The noise of a screening round on weights of L2 norm at most 1, and a continuous curve for the round after it, which
/// together are (`epsilon`, `delta`)-DP. The noise takes the part `screening`, below 1, of the divergence.
///
/// # Contract
/// As [`l2_curves`]: the divergence of the noise, alpha / (2 sigma^2), and the divergence of the curve add up to at
/// most the converted divergence. The noise has no approximation.
///
/// # Errors
/// As [`l2_continuous_curve`].
pub fn screening_and_curve(epsilon: f64, delta: f64, screening: f64, norm: u64) -> Result<(f64, CurveSpec)> {
    let (RenyiDivergence { alpha, divergence }, curve) =
        continuous(epsilon, delta, sub_down(1.0, screening), norm)?;
    let sigma = sqrt_up(div_up(alpha, mul_down(2.0, mul_down(divergence, screening))));
    Ok((sigma, curve))
}

/// The order of a calibration and its divergence in all.
struct RenyiDivergence {
    alpha: f64,
    divergence: f64,
}

/// A continuous curve with this share of the divergence and all of the approximation.
fn continuous(epsilon: f64, delta: f64, share: f64, norm: u64) -> Result<(RenyiDivergence, CurveSpec)> {
    let half = approximate_half(epsilon, delta, share);
    if half > FARTHEST_HALF {
        return Err(too_long(FARTHEST_HALF));
    }
    let CurveProposal { alpha, part } = best(epsilon, delta, share, 1);
    let (whole, delta) = budget(epsilon, delta, alpha, part).ok_or_else(no_order)?;
    let kind = CurveKind::L2Continuous { alpha, divergence: mul_down(whole, share), delta, norm };
    let curve = with_half(kind, continuous_quantum(half))?;
    Ok((RenyiDivergence { alpha, divergence: whole }, curve))
}

/// A quantum of an L1 curve that divides the least weight of a user nearly evenly. The table of an L1 curve is cheap.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive numbers of at most UNIT"
)]
pub fn l1_quantum(epsilon: f64, delta: f64, least: u64) -> u64 {
    if least >= UNIT {
        return UNIT;
    }
    let half = libm::log1p(libm::expm1(epsilon) / (2.0 * delta)) / epsilon;
    let fineness = (L1_QUANTA_TO_HALF / half).clamp(COARSEST, L1_FINEST);
    let parts = (least as f64 / UNIT as f64 * fineness).ceil().max(1.0) as u64;
    (least / parts).max((UNIT as f64 / (4.0 * fineness)) as u64)
}

/// A power of two that divides one unit finely.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number in 64..=512")]
fn continuous_quantum(half: f64) -> u64 {
    let fineness = (CONTINUOUS_QUANTA_TO_HALF / half).clamp(COARSEST, CONTINUOUS_FINEST) as u64;
    UNIT >> fineness.ilog2()
}

fn with_half(curve: CurveKind, quantum: u64) -> Result<CurveSpec> {
    let half = Curve::of(curve, quantum)?.half();
    Ok(CurveSpec { curve, quantum, half })
}

fn too_long(farthest: f64) -> Error {
    Error::Calibration {
        what: format!("a release curve that reaches one half before the weight {farthest}"),
        fix: "raise epsilon or delta, have fewer rounds or more equal ones, or take a mechanism of noise",
    }
}

fn no_order() -> Error {
    Error::Calibration {
        what: "a release curve: no order of the Renyi divergence serves".into(),
        fix: "raise epsilon or delta",
    }
}

/// The order, and the part of delta that goes to the approximation.
#[derive(Debug, Clone, Copy)]
struct CurveProposal {
    alpha: f64,
    part: f64,
}

/// Divergence and approximation of all rounds together, rounded down, for any proposal.
fn budget(epsilon: f64, delta: f64, alpha: f64, part: f64) -> Option<(f64, f64)> {
    let approximation = mul_down(delta, part);
    let divergence = divergence_beside(approximation, epsilon, delta, alpha)?;
    (approximation > 0.0 && approximation < 1.0).then_some((divergence, approximation))
}

/// The proposal with which a round of this share releases most. Any proposal is valid.
fn best(epsilon: f64, delta: f64, share: f64, least: u64) -> CurveProposal {
    let quantum = coarse_quantum(epsilon, delta, share, least);
    let loss = |alpha: f64, part: f64| {
        budget(epsilon, delta, alpha, part).map_or(f64::INFINITY, |(divergence, delta)| {
            let kind = CurveKind::L2 { alpha, divergence: divergence * share, delta: delta * share };
            loss(kind, quantum)
        })
    };
    let alpha_for = |part: f64| order_of_least(epsilon, delta, |alpha| loss(alpha, part));
    let alpha = alpha_for(0.5);
    let part = minimise(|part| loss(alpha, part), 0.2, 0.8, 4, 4);
    CurveProposal { alpha: alpha_for(part), part }
}

/// The order with which a single round releases most. Any order is valid.
fn best_order(epsilon: f64, delta: f64, least: u64) -> f64 {
    let quantum = coarse_quantum(epsilon, delta, 1.0, least);
    order_of_least(epsilon, delta, |alpha| loss(CurveKind::L2Region { alpha, epsilon, delta }, quantum))
}

/// The order at which a loss is least.
fn order_of_least(epsilon: f64, delta: f64, loss: impl Fn(f64) -> f64) -> f64 {
    // A Gaussian mechanism of this budget has its best order near 2 ln(1 / delta) / epsilon.
    let start = -1.6 * libm::log(delta.min(0.9)) / epsilon;
    let of_log = |log: f64| 1.0 + start * libm::exp(log);
    of_log(minimise(|log| loss(of_log(log)), -1.5, 1.5, 6, 6))
}

/// The quantum of the tables by which orders are compared.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number in 4..=8")]
fn coarse_quantum(epsilon: f64, delta: f64, share: f64, least: u64) -> u64 {
    // Curves whose only change is a whole unit have other orders than those with small changes too.
    let span = (400.0 / approximate_half(epsilon, delta, share)).clamp(4.0, 8.0);
    if least >= UNIT { UNIT } else { UNIT / span as u64 }
}

/// The smaller, the more items of a universe in which few items are frequent are released: one over their expected
/// number where the number of items of weight x and more falls like 1/x.
fn loss(kind: CurveKind, quantum: u64) -> f64 {
    let Ok(curve) = Curve::new(kind, quantum) else { return f64::INFINITY };
    let released = |at: usize| {
        let x = at as f64;
        curve.words()[at] as f64 / 2_f64.powi(128) / (x * (x + 1.0))
    };
    let inside: f64 = (1..curve.words().len()).map(released).sum();
    1.0 / (inside + 1.0 / curve.words().len() as f64)
}

/// About the weight at which a release becomes likelier than not.
fn approximate_half(epsilon: f64, delta: f64, share: f64) -> f64 {
    let mu = approximate_mu(epsilon, delta, 1e-3) * share.sqrt();
    ((-2.0 * libm::log(delta.min(0.5))).sqrt() / mu).max(1.0)
}

/// A quantum that divides the least weight of a user nearly evenly, and one unit finely.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive numbers of at most UNIT"
)]
fn quantum(least: u64, half: f64) -> u64 {
    if least >= UNIT {
        // All contributions are whole units.
        return UNIT;
    }
    let fineness = (QUANTA_TO_HALF / half).clamp(COARSEST, FINEST);
    let parts = (least as f64 / UNIT as f64 * fineness).ceil().max(1.0) as u64;
    // A table grows with the square of this: users of more than (2 fineness)^2 items add nothing then.
    (least / parts).max((UNIT as f64 / (2.0 * fineness)) as u64)
}
