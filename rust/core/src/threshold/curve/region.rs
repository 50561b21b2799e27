//! The budget of one round: every approximation and divergence that convert to (epsilon, delta) at one order.
//!
//! These points are a convex set, and users spend the sum of the costs of their changes. So each pair of probabilities
//! may choose a point of its own. Proof: `docs/algorithms/release_curves.md`, section 6.

use dpsel_exact::numeric::{Interval, mul_down};

use super::l2::L2;
use super::probability::Probability;
use super::table::Constraint;

/// The parts of delta that are left to the divergence; after them comes the point without divergence.
const PARTS: [f64; 14] =
    [1.0, 0.707, 0.5, 0.354, 0.25, 0.177, 0.125, 0.0884, 0.0625, 0.0442, 0.0313, 0.0221, 0.0156, 0.011];
/// This number of points after and before the likely one are tried.
const AFTER: usize = 3;
const BEFORE: usize = 1;

/// The allowed cost of one unit of sensitivity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// The divergence.
    pub(super) divergence: f64,
    /// The approximation.
    pub(super) delta: f64,
}

/// The largest divergence of order `alpha` beside an approximation, rounded down: `None` if there is none above 0.
///
/// Renyi DP of order alpha and divergence R implies (epsilon, d2)-DP with
/// d2 = e^((alpha - 1) (R - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1), solved here for R; d2 = (delta - d1) / (1 -
/// d1).
pub(super) fn divergence_beside(approximation: f64, epsilon: f64, delta: f64, alpha: f64) -> Option<f64> {
    let (one, spent) = (Interval::ONE, Interval::point(approximation));
    let converted = ((Interval::point(delta) - spent) / (one - spent)).lo();
    let order = Interval::point(alpha) - one;
    let logarithm = Interval::point(converted).ln() - log_factor(alpha);
    let divergence = (Interval::point(epsilon) + logarithm / order).lo();
    (divergence.is_finite() && divergence > 0.0).then_some(divergence)
}

/// ln of (1 - 1/alpha)^alpha / (alpha - 1).
fn log_factor(alpha: f64) -> Interval {
    let alpha = Interval::point(alpha);
    let order = alpha - Interval::ONE;
    order * order.ln() - alpha * alpha.ln()
}

/// The largest approximation beside a divergence of 0, rounded down: `None` if there is none above 0.
fn approximation_alone(epsilon: f64, delta: f64, alpha: f64) -> Option<f64> {
    let one = Interval::ONE;
    let order = Interval::point(alpha) - one;
    let converted = (log_factor(alpha) - order * Interval::point(epsilon)).exp();
    let largest = ((Interval::point(delta) - converted) / (one - converted)).lo();
    (largest.is_finite() && largest > 0.0 && largest < 1.0).then_some(largest)
}

/// Points of the budget, from the one without approximation to the one without divergence.
///
/// # Contract
/// Approximations rise, divergences fall, and each point satisfies D + (1 - D) g(R) <= delta, g(R) the delta to which
/// the divergence R converts. `None` if nothing does.
pub(super) fn points(alpha: f64, epsilon: f64, delta: f64) -> Option<Vec<Point>> {
    let last = Point { divergence: 0.0, delta: approximation_alone(epsilon, delta, alpha)? };
    let beside = |part: &f64| {
        let approximation = mul_down(delta, 1.0 - part).max(0.0);
        let divergence = divergence_beside(approximation, epsilon, delta, alpha)?;
        (approximation < last.delta).then_some(Point { divergence, delta: approximation })
    };
    let points: Vec<_> = PARTS.iter().map_while(beside).chain([last]).collect();
    (points.len() > 1).then_some(points)
}

/// The first of `points` points that leaves at most this part of delta to the divergence. It never rises with the part.
pub(super) fn point_for(part: f64, points: usize) -> usize {
    PARTS.iter().filter(|known| part < **known).count().min(points - 1)
}

/// Approximate Renyi differential privacy of one release, in both directions, at some point of the budget.
#[derive(Debug)]
pub(super) struct Region {
    /// alpha - 1, in plain arithmetic.
    order: f64,
    /// One for each point.
    points: Vec<L2>,
}

impl Region {
    /// For changes of 0, 1, 2, ... quanta, of which each is a fraction of the sensitivity.
    pub(super) fn new(alpha: f64, points: &[Point], changes: &[f64]) -> Self {
        let points =
            points.iter().map(|point| L2::new(alpha, point.divergence, point.delta, changes)).collect();
        Self { order: alpha - 1.0, points }
    }

    /// The points worth a trial for a pair, likely ones first. All others are left out.
    ///
    /// With p = D + (delta - D)^(1/alpha) times a constant, the best is where p / delta = 1 + (alpha - 1) (1 - D /
    /// delta).
    fn candidates(&self, change: usize, below: Probability, above: Probability) -> impl Iterator<Item = &L2> {
        let count = self.points.len();
        let size = above.step_from(below).middle() / self.points[count - 1].delta(change);
        let likely = point_for((size - 1.0) / self.order, count);
        let reach = if likely == 0 { 1 } else { (likely + AFTER + 1).min(count) };
        let before = self.points[likely.saturating_sub(BEFORE)..likely].iter();
        self.points[likely..reach].iter().chain(before)
    }
}

impl Constraint for Region {
    fn holds(&self, entries: &[Probability], (first, last): (usize, usize), above: Probability) -> bool {
        let below = entries[entries.len() - last];
        self.candidates(first, below, above).any(|point| point.allows(first, below, above))
    }

    fn largest(&self, entries: &[Probability], change: usize) -> Probability {
        let below = entries[entries.len() - change];
        let first = self.points[0].most(change, below);
        self.candidates(change, below, first.max(below))
            .map(|point| point.most(change, below))
            .fold(first, Probability::max)
    }
}
