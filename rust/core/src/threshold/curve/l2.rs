//! The constraint of the L2 curve: a change by a costs (delta a^2)-approximate (alpha, divergence a^2)-Renyi DP.

use dpsel_exact::accounting::root;
use dpsel_exact::numeric::{Interval, mul_down};

use super::probability::Probability;
use super::table::Constraint;

/// The leeway of a change.
#[derive(Debug, Clone, Copy)]
struct L2Leeway {
    /// delta a^2, rounded down.
    delta: f64,
    /// (1 - delta a^2) (e^((alpha - 1) divergence a^2) - 1), rounded down.
    moment: f64,
}

/// Approximate Renyi differential privacy of one release, in both directions.
#[derive(Debug)]
pub(super) struct L2 {
    /// alpha - 1.
    order: Interval,
    /// One for each number of quanta.
    leeways: Vec<L2Leeway>,
}

impl L2 {
    /// For changes of 0, 1, 2, ... quanta, of which each is a fraction of the sensitivity.
    pub(super) fn new(alpha: f64, divergence: f64, delta: f64, changes: &[f64]) -> Self {
        let squares = changes.iter().map(|change| mul_down(*change, *change).max(0.0));
        Self::allowing(alpha, squares.map(|square| (mul_down(divergence, square), mul_down(delta, square))))
    }

    /// For changes of 0, 1, 2, ... quanta, of which each may cost a divergence and a delta.
    pub(super) fn allowing(alpha: f64, costs: impl Iterator<Item = (f64, f64)>) -> Self {
        let order = Interval::point(alpha) - Interval::ONE;
        let leeway = |(divergence, delta): (f64, f64)| {
            let delta = delta.max(0.0);
            let growth = (order * Interval::point(divergence.max(0.0))).exp_m1();
            L2Leeway { delta, moment: ((Interval::ONE - Interval::point(delta)) * growth).lo().max(0.0) }
        };
        Self { order, leeways: costs.map(leeway).collect() }
    }

    /// Upper bound of both moments of the pair (q + s, q), of which s >= 0 is the step and `left` is 1 - delta - q - s.
    ///
    /// With u = ln(1 + s / q) and v = ln(1 + s / left), the two that must not exceed the leeway are
    /// (q + s) (e^(order u) - 1) + left (e^(-order v) - 1) and q (e^(-order u) - 1) + (left + s) (e^(order v) - 1).
    fn moments(&self, q: Interval, step: Interval, left: Interval) -> f64 {
        let power = |ratio: Interval| (self.order * ratio.ln_1p()).exp_m1();
        let (rise, fall) = (power(step / q), power(step / left));
        // e^-x - 1 is -(e^x - 1) / e^x.
        let inverse = |power: Interval| power / (Interval::ONE + power);
        let forwards = (q + step) * rise - left * inverse(fall);
        let backwards = (left + step) * fall - q * inverse(rise);
        forwards.hi().max(backwards.hi())
    }

    /// As [`L2::moments`] in plain arithmetic.
    fn plain_moments(&self, q: f64, step: f64, left: f64) -> f64 {
        let order = self.order.middle();
        let (rise, fall) = (order * libm::log1p(step / q), order * libm::log1p(step / left));
        let forwards = (q + step) * libm::expm1(rise) + left * libm::expm1(-fall);
        let backwards = q * libm::expm1(-rise) + (left + step) * libm::expm1(fall);
        forwards.max(backwards)
    }
}

impl L2 {
    /// The allowed approximation of a change.
    pub(super) fn delta(&self, change: usize) -> f64 {
        self.leeways[change].delta
    }

    /// Whether two probabilities are certainly close enough for a change, in both directions.
    pub(super) fn allows(&self, change: usize, below: Probability, above: Probability) -> bool {
        let L2Leeway { delta, moment } = self.leeways[change];
        let step = above.step_from(below) - Interval::point(delta);
        if step.hi() <= 0.0 {
            return true;
        }
        if moment <= 0.0 {
            return false;
        }
        let step = step.max(Interval::ZERO);
        let (q, left) = (below.value(), above.complement());
        q.lo() > 0.0 && left.lo() > 0.0 && self.moments(q, step, left) <= moment
    }

    /// About the largest probability that is close enough to `below` for a change: a proposal.
    pub(super) fn most(&self, change: usize, below: Probability) -> Probability {
        let L2Leeway { delta, moment } = self.leeways[change];
        if moment <= 0.0 {
            return below.raised(delta);
        }
        let (q, rest) = (below.value().middle(), below.complement().middle() - delta);
        if q <= 0.0 {
            return Probability::at_most(delta);
        }
        if rest <= 0.0 {
            return Probability::ONE;
        }
        // With t = step / left, left = rest / (1 + t): precise wherever the step ends.
        let split = |log_t: f64| {
            let t = libm::exp(log_t);
            (rest * t / (1.0 + t), rest / (1.0 + t))
        };
        let goal = libm::log(moment);
        let gap = |log_t: f64| {
            let (step, left) = split(log_t);
            libm::log(self.plain_moments(q, step, left)) - goal
        };
        // For small steps the moments are order (order + 1) / 2 times step^2 (1 / q + 1 / left).
        let order = self.order.middle();
        let first = 0.5 * libm::log(2.0 * moment * q / (order * (order + 1.0) * (q + rest) * rest));
        let (mut lo, mut hi) = (first - 1.0, first);
        for _ in 0..200 {
            if gap(hi) >= 0.0 {
                break;
            }
            (lo, hi) = (hi, hi + 1.0);
        }
        for _ in 0..200 {
            if gap(lo) <= 0.0 {
                break;
            }
            (lo, hi) = (lo - 2.0, lo);
        }
        let (step, left) = split(root(gap, lo, hi, 1e-12));
        let above = q + step + delta;
        if above <= 0.5 { Probability::at_most(above) } else { Probability::with_complement(left) }
    }
}

impl Constraint for L2 {
    fn holds(&self, entries: &[Probability], (first, last): (usize, usize), above: Probability) -> bool {
        self.allows(first, entries[entries.len() - last], above)
    }

    fn largest(&self, entries: &[Probability], change: usize) -> Probability {
        self.most(change, entries[entries.len() - change])
    }
}
