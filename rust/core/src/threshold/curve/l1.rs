//! The constraint of the L1 curve: a change by a costs (epsilon a, delta a). Where the only change is a whole unit, the
//! two directions may have an epsilon each.

use dpsel_exact::numeric::{Interval, mul_down};

use super::probability::Probability;
use super::table::Constraint;

/// The leeway of a change: e^(epsilon a) - 1 for either direction and delta a, all rounded down.
#[derive(Debug, Clone, Copy)]
struct L1Leeway {
    /// For adding weight.
    adding: f64,
    /// For removing it.
    removing: f64,
    delta: f64,
}

/// (epsilon a, delta a)-differential privacy of one release, in both directions.
#[derive(Debug)]
pub(super) struct L1 {
    /// One for each number of quanta.
    leeways: Vec<L1Leeway>,
}

impl L1 {
    /// For changes of 0, 1, 2, ... quanta, of which each is a fraction of the sensitivity.
    pub(super) fn new(epsilon: f64, delta: f64, changes: &[f64]) -> Self {
        let leeway = |&change: &f64| {
            let growth = growth(mul_down(epsilon, change));
            L1Leeway { adding: growth, removing: growth, delta: mul_down(delta, change).max(0.0) }
        };
        Self { leeways: changes.iter().map(leeway).collect() }
    }

    /// For changes by one whole unit, with an epsilon for each direction.
    pub(super) fn one_unit(adding: f64, removing: f64, delta: f64) -> Self {
        let none = L1Leeway { adding: 0.0, removing: 0.0, delta: 0.0 };
        Self { leeways: vec![none, L1Leeway { adding: growth(adding), removing: growth(removing), delta }] }
    }
}

/// e^epsilon - 1, rounded down.
fn growth(epsilon: f64) -> f64 {
    Interval::point(epsilon).exp_m1().lo().max(0.0)
}

impl Constraint for L1 {
    /// p <= e^adding q + delta is p - q - delta <= (e^adding - 1) q, and 1 - q <= e^removing (1 - p) + delta is
    /// p - q - delta <= (e^removing - 1) (1 - p).
    fn holds(&self, entries: &[Probability], (first, last): (usize, usize), above: Probability) -> bool {
        let (L1Leeway { adding, removing, delta }, below) =
            (self.leeways[first], entries[entries.len() - last]);
        let excess = (above.step_from(below) - Interval::point(delta)).hi();
        let (below, missing) = (below.value().lo().max(0.0), above.complement().lo().max(0.0));
        excess <= mul_down(adding, below).min(mul_down(removing, missing))
    }

    fn largest(&self, entries: &[Probability], change: usize) -> Probability {
        let (L1Leeway { adding, removing, delta }, below) =
            (self.leeways[change], entries[entries.len() - change]);
        let risen = Probability::at_most(below.value().middle() * (1.0 + adding) + delta);
        let complement = (below.complement().middle() - delta) / (1.0 + removing);
        risen.min(Probability::with_complement(complement))
    }
}
