//! The constraint of the L2 curve for weights that are multiples of nothing: its table is joined by straight lines.
//!
//! Three things together bound what a change of any size costs; the proof is in
//! `docs/algorithms/release_curves.md`, section 8. Pairs of entries from [`LOCAL`] quanta on satisfy slightly reduced allowances,
//! and a straight line between entries gives back what was reduced. The slope of the lines is bounded for smaller
//! changes. And the first line is a parabola, because near the weight 0 a small change has to cost its square.

use super::l2::L2;
use super::probability::Probability;
use super::table::Constraint;
use super::{CurveKind, out_of_range};
use crate::Result;
use crate::rounding::{Interval, mul_down};
use crate::widths::index;

/// Changes of up to so many quanta are bounded by the slope.
pub(super) const LOCAL: usize = 4;
/// Up to this entry the table follows the parabola.
pub(super) const START: usize = LOCAL + 2;
/// How much further than the last step the next ones are expected to go.
const LOOKAHEAD: f64 = 1.25 * LOCAL as f64;
/// The complement at which the curve may stop to grow.
const LAST_COMPLEMENT: f64 = 1.0 / (1_u64 << 44) as f64;
/// Bits of the parabola's factor: so few that its entries are exact.
const START_BITS: u32 = 24;

/// Approximate Renyi differential privacy of one release, in both directions, for every change of weight.
#[derive(Debug)]
pub(super) struct Continuous {
    /// The reduced allowances of changes of 0, 1, 2, ... quanta.
    pairs: L2,
    /// alpha - 2.
    bend: f64,
    /// 2 R / alpha for a change by one quantum, rounded down.
    slope: f64,
    /// delta for a change by one quantum, rounded down.
    delta: f64,
    /// The last entry that a change of the weight 0 reaches.
    reach: usize,
    quantum: u64,
    /// The words of the first line are this times the square of the weight.
    start: u128,
}

impl Continuous {
    /// The constraint, and the largest change in quanta that a pair of entries has to satisfy.
    ///
    /// # Errors
    /// [`crate::Error::Calibration`] if parameters are out of range.
    pub(super) fn new(kind: CurveKind, quantum: u64) -> Result<(Self, usize)> {
        let CurveKind::L2Continuous { alpha, divergence, delta, norm } = kind else {
            return Err(out_of_range());
        };
        let square = (Interval::integer(quantum.into()) / Interval::integer(norm.into())).square();
        let (one, order) = (Interval::ONE, Interval::point(alpha) - Interval::ONE);
        let (r, d) = (Interval::point(divergence) * square, Interval::point(delta) * square);
        let span = index(norm / quantum).saturating_add(1);
        let fits = quantum.is_power_of_two() && span > START && (order * r).hi() <= 0.25 && delta < 1.0;
        let start = start(alpha, r, d, quantum);
        if !fits || start == 0 {
            return Err(out_of_range());
        }
        let cost = |m: i128| {
            let quarter = Interval::point(0.25);
            let square = Interval::integer(m * m);
            // A mixture of changes by m and m + 1 quanta costs no more than what lies between them.
            let bent = quarter
                + order * r * Interval::integer((2 * m + 1) * (2 * m + 1))
                    / (one + one).square()
                    / (one + one);
            ((r * (square - bent)).lo(), (d * (square - quarter)).lo())
        };
        let pairs = L2::allowing(alpha, (0..=span as i128).map(cost));
        let slope = ((one + one) * r / Interval::point(alpha)).lo();
        Ok((Self { pairs, bend: alpha - 2.0, slope, delta: d.lo(), reach: span + 1, quantum, start }, span))
    }

    /// The factor of the parabola.
    pub(super) fn start_factor(&self) -> u128 {
        self.start
    }

    /// Whether the cell below `above`, over which the curve rises by `step`, is flat enough for all changes that reach from
    /// `below` up to `above` at most.
    fn is_flat(&self, step: Interval, below: Probability, above: Probability) -> bool {
        let (q, left) = (below.value(), above.complement());
        if q.lo() <= 0.0 || left.lo() <= 0.0 {
            return false;
        }
        let bent = |ratio: Interval| bent(self.bend, ratio.max(Interval::ONE));
        let curvature = bent(above.value() / q) / q + bent(below.complement() / left) / left;
        (step.square() * curvature).hi() <= self.slope
    }

    /// Whether all cells of the last changes stay flat enough if `next` comes after the entries.
    fn all_flat(&self, entries: &[Probability], next: Probability) -> bool {
        let last = entries.len() - 1;
        let cells = (last.saturating_sub(LOCAL).max(START)..last).rev();
        self.is_flat(next.step_from(entries[last]), entries[last - LOCAL], next)
            && cells.into_iter().all(|cell| {
                self.is_flat(entries[cell + 1].step_from(entries[cell]), entries[cell - LOCAL], next)
            })
    }

    /// About the largest step from the last entry that lets as large ones follow: a proposal.
    fn step(&self, entries: &[Probability]) -> f64 {
        let last = entries.len() - 1;
        let (below, here) = (entries[last - LOCAL], entries[last]);
        let (q, rest) = (below.value().middle(), below.complement().middle());
        let (p, left) = (here.value().middle(), here.complement().middle());
        let bent = |ratio: f64| {
            let power = libm::expm1(self.bend.abs() * libm::log(ratio));
            1.0 + if self.bend >= 1.0 { power / 3.0 } else { power }
        };
        let flat = |step: f64| {
            let (p, left) = (p + step * (1.0 + LOOKAHEAD), left - step * (1.0 + LOOKAHEAD));
            left > 0.0 && step * step * (bent(p / q) / q + bent(rest / left) / left) <= self.slope
        };
        let (mut fits, mut fails) = (0.0, libm::sqrt(self.slope * q.min(left)));
        for _ in 0..40 {
            let middle = 0.5 * (fits + fails);
            if flat(middle) { fits = middle } else { fails = middle }
        }
        fits
    }
}

/// By how much the second moment of a pair exceeds that of an infinitesimal one whose probabilities have this ratio.
fn bent(bend: f64, ratio: Interval) -> Interval {
    let power = (Interval::point(bend.abs()) * ratio.ln()).exp_m1();
    let third = if bend >= 1.0 { power / Interval::integer(3) } else { power };
    Interval::ONE + third
}

/// The factor of the parabola, for the cost of one quantum: t delta / 36 for a t of at most 1 for which
/// alpha t delta bent(1 + t) <= R, and of few bits.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounding down is meant")]
fn start(alpha: f64, r: Interval, d: Interval, quantum: u64) -> u128 {
    let cost = |t: f64| {
        let ratio = Interval::ONE + Interval::point(t);
        (Interval::point(alpha) * Interval::point(t) * d * bent(alpha - 2.0, ratio)).hi()
    };
    let fraction = (0..64).map(|halvings| 2_f64.powi(-halvings)).find(|t| cost(*t) <= r.lo());
    // Otherwise: a start of 0, which is refused.
    let gamma = (Interval::point(fraction.unwrap_or(0.0)) * d / Interval::integer(36)).lo();
    let quanta = quantum as f64;
    let factor = mul_down(gamma, 2_f64.powi(127) / (quanta * quanta) * 2.0) as u128;
    let spare = (u128::BITS - factor.leading_zeros()).saturating_sub(START_BITS);
    factor >> spare << spare
}

impl Constraint for Continuous {
    fn holds(&self, change: usize, below: Probability, above: Probability) -> bool {
        self.pairs.holds(change, below, above)
    }

    fn largest(&self, change: usize, below: Probability) -> Probability {
        self.pairs.largest(change, below)
    }

    fn start(&self) -> Vec<Probability> {
        let square = |i: usize| (i as f64 * self.quantum as f64).powi(2) / 2_f64.powi(127) / 2.0;
        (0..=START).map(|i| Probability::at_most(self.start as f64 * square(i))).collect()
    }

    fn changes(&self, entries: usize, span: usize) -> (usize, usize) {
        // Changes from below the first entry have their own limit.
        (LOCAL, span.min(entries - 1))
    }

    fn cap(&self, entries: &[Probability]) -> Probability {
        let (here, last) = (entries.len(), entries[entries.len() - 1]);
        let mut step = self.step(entries);
        let raised = |step: f64| last.raised(step).min(self.above_zero(here));
        while step > 0.0 && !self.all_flat(entries, raised(step).max(last)) {
            step = if step > 1e-60 { step * 0.999 } else { 0.0 };
        }
        raised(step).max(last)
    }

    fn kept(&self, probability: Probability) -> Probability {
        probability.on_grid(self.quantum)
    }

    fn ends_with(&self, entry: Probability) -> bool {
        entry.complement().hi() <= LAST_COMPLEMENT
    }
}

impl Continuous {
    /// The most that an entry may be, given that weights below the first entry may be 0.
    fn above_zero(&self, entry: usize) -> Probability {
        if entry > self.reach {
            return Probability::ONE;
        }
        let quanta = (entry - 2) as f64;
        Probability::at_most(mul_down(self.delta, quanta * quanta).max(0.0))
    }
}
