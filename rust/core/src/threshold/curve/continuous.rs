//! The constraint of the L2 curve for weights that are not multiples of a quantum: straight lines join its table.
//!
//! Three conditions together bound the cost of a change of any size; `docs/algorithms/release_curves.md`, section 8,
//! has the proof. Pairs of entries at least [`LOCAL`] quanta apart satisfy slightly reduced leeways, and straight
//! lines between entries cost the difference. The slope of the lines is bounded for smaller changes. The first line is
//! a parabola, because near the weight 0 a small change has to cost its square.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::index;
use dpsel_exact::numeric::{Interval, mul_down};

use super::kind::out_of_range;
use super::l2::L2;
use super::probability::Probability;
use super::region::{Point, point_for};
use super::table::Constraint;

/// Changes of up to this number of quanta are bounded by the slope.
pub(super) const LOCAL: usize = 4;
/// Up to this entry the table follows the parabola.
pub(super) const START: usize = LOCAL + 2;
/// How much further than the last step the next ones are expected to go.
const LOOKAHEAD: f64 = 1.25 * LOCAL as f64;
/// The least part of delta that points leave to the divergence after the parabola: less makes the curve rise later.
const LEAST_PART: f64 = 0.0625;
/// The complement at which the curve may stop to grow.
const LAST_COMPLEMENT: f64 = 1.0 / (1_u64 << 44) as f64;
/// Bits of the parabola's factor: so few that its entries are exact.
const START_BITS: u32 = 24;

/// Approximate Renyi differential privacy of one release, in both directions, for every change of weight.
#[derive(Debug)]
pub(super) struct Continuous {
    /// The reduced leeways of changes of 0, 1, 2, ... quanta, for each point of the budget.
    points: Vec<L2>,
    /// alpha - 1 and alpha - 2.
    order: f64,
    bend: f64,
    /// 2 R / alpha for a change by one quantum at the first point, rounded down.
    slope: f64,
    /// delta for a change by one quantum at the last point, rounded down.
    delta: f64,
    /// About the delta for a change by the norm at the last point.
    whole: f64,
    /// The last entry that a change of the weight 0 reaches.
    reach: usize,
    quantum: u64,
    /// The words of the first line are this times the square of the weight.
    start: u128,
}

impl Continuous {
    /// The constraint, and the largest change in quanta that a pair of entries has to satisfy. Approximations of the
    /// points rise and their divergences fall.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Calibration`] if parameters are out of range.
    pub(super) fn new(alpha: f64, points: &[Point], norm: u64, quantum: u64) -> Result<(Self, usize)> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return Err(out_of_range()) };
        let square = (Interval::integer(quantum.into()) / Interval::integer(norm.into())).square();
        let (one, order) = (Interval::ONE, Interval::point(alpha) - Interval::ONE);
        let (r, d) = (Interval::point(first.divergence) * square, Interval::point(last.delta) * square);
        let span = index(norm / quantum).saturating_add(1);
        let fits = quantum.is_power_of_two() && span > START && (order * r).hi() <= 0.25 && last.delta < 1.0;
        let start = start(alpha, r, d, quantum);
        if !fits || start == 0 {
            return Err(out_of_range());
        }
        let points = points.iter().map(|point| reduced(alpha, *point, square, span)).collect();
        let slope = ((one + one) * r / Interval::point(alpha)).lo();
        let (order, bend, delta) = (alpha - 1.0, alpha - 2.0, d.lo());
        let whole = last.delta;
        Ok((Self { points, order, bend, slope, delta, whole, reach: span + 1, quantum, start }, span))
    }

    /// The factor of the parabola.
    pub(super) fn start_factor(&self) -> u128 {
        self.start
    }

    /// Whether the cell below `above`, over which the curve rises by `step`, is flat enough for all changes that reach
    /// from `below` up to `above` at most.
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

    /// About the largest step from the last entry after which steps as large can follow: a proposal.
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

/// The leeways of a point for changes of up to `span` quanta, one of which has this square. They are reduced by the
/// additional cost of a straight line between entries.
fn reduced(alpha: f64, point: Point, square: Interval, span: usize) -> L2 {
    let order = Interval::point(alpha) - Interval::ONE;
    let (r, d) = (Interval::point(point.divergence) * square, Interval::point(point.delta) * square);
    let cost = |m: i128| {
        let (quarter, square) = (Interval::point(0.25), Interval::integer(m * m));
        // A mixture of changes by m and m + 1 quanta costs no more than a change between them.
        let bent = quarter + order * r * Interval::integer((2 * m + 1) * (2 * m + 1)) / Interval::integer(8);
        ((r * (square - bent)).lo(), (d * (square - quarter)).lo())
    };
    L2::allowing(alpha, (0..=span as i128).map(cost))
}

/// The factor by which the second moment of a pair exceeds the moment of an infinitesimal pair with this ratio of
/// probabilities.
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
    fn holds(&self, entries: &[Probability], changes: (usize, usize), above: Probability) -> bool {
        let below = entries[entries.len() - changes.1];
        let (least, most) = self.shared_points(entries);
        self.points[least..=most].iter().all(|point| point.allows(changes.0, below, above))
    }

    fn largest(&self, entries: &[Probability], change: usize) -> Probability {
        let below = entries[entries.len() - change];
        let (least, most) = self.shared_points(entries);
        let proposals = self.points[least..=most].iter().map(|point| point.most(change, below));
        proposals.fold(Probability::ONE, Probability::min)
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

    fn ends_with(&self, entries: &[Probability]) -> bool {
        // All later entries equal the last one, and slopes belong to the first point.
        let last = entries.len() - 1;
        entries[last].complement().hi() <= LAST_COMPLEMENT
            && last > START + LOCAL
            && self.point(entries, last) == 0
    }

    fn repeats(&self, entries: &[Probability]) -> bool {
        // Larger changes have the pairs and the point of the last entry.
        let (below, last) = (entries[entries.len() - LOCAL], entries.len() - 1);
        self.points.len() == 1 || self.points[self.point(entries, last)].allows(LOCAL, below, entries[last])
    }
}

impl Continuous {
    /// The point of an entry, known from the entries before it. It never rises with the entry.
    fn point(&self, entries: &[Probability], entry: usize) -> usize {
        let mut entry = entry;
        while entry > START && entries.get(entry) == Some(&entries[entry - 1]) {
            entry -= 1;
        }
        if entry <= START {
            return self.points.len() - 1;
        }
        // A change by the norm decides most of the entries after the bottom.
        let size = entries[entry - 1].value().lo() / self.whole;
        point_for(LEAST_PART.max((size - 1.0) / self.order), self.points.len())
    }

    /// The first and the last point of the range that pairs with the next entry have to satisfy. The two are the points
    /// of this entry and of the entry before, because straight lines mix pairs with both.
    fn shared_points(&self, entries: &[Probability]) -> (usize, usize) {
        (self.point(entries, entries.len()), self.point(entries, entries.len() - 1))
    }

    /// The largest value of an entry, given that weights below the first entry may be 0.
    fn above_zero(&self, entry: usize) -> Probability {
        if entry > self.reach {
            return Probability::ONE;
        }
        let quanta = (entry - 2) as f64;
        Probability::at_most(mul_down(self.delta, quanta * quanta).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::numeric::UNIT;

    use super::super::{region, table};
    use super::*;

    /// Straight lines mix pairs with an entry and with the one after it: both have to keep to one point.
    #[test]
    fn pairs_keep_the_point_of_their_upper_entry_and_of_the_one_before() {
        for (alpha, epsilon, delta) in [(10.0, 1.765, 4.96e-5), (4.0, 3.0, 0.05), (18.0, 1.0, 1e-5)] {
            let points = region::points(alpha, epsilon, delta).unwrap();
            let (constraint, span) = Continuous::new(alpha, &points, UNIT, UNIT >> 6).unwrap();
            let entries = table::build(&constraint, span).unwrap();
            let mut seen = 0;
            for entry in START + 1..entries.len() {
                let own = constraint.point(&entries, entry);
                let before = constraint.point(&entries, entry - 1);
                assert!(own <= before && (entry > START + 1 || before == points.len() - 1));
                seen += usize::from(own < before);
                for change in LOCAL..=span.min(entry - 1) {
                    for point in [own, before] {
                        let (below, above) = (entries[entry - change], entries[entry]);
                        assert!(constraint.points[point].allows(change, below, above), "{entry} {change}");
                    }
                }
            }
            assert!(seen > 4 && constraint.point(&entries, entries.len() - 1) == 0);
        }
    }
}
