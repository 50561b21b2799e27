//! The constraint of the L1 curve: a change by a costs (epsilon a, delta a).

use super::probability::Probability;
use super::table::Constraint;
use crate::numeric::{Interval, mul_down};

/// The allowance of a change: e^(epsilon a) - 1 and delta a, both rounded down.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    growth: f64,
    delta: f64,
}

/// (epsilon a, delta a)-differential privacy of one release, in both directions.
#[derive(Debug)]
pub(super) struct L1 {
    /// One for each number of quanta.
    allowances: Vec<Allowance>,
}

impl L1 {
    /// For changes of 0, 1, 2, ... quanta, of which each is a fraction of the sensitivity.
    pub(super) fn new(epsilon: f64, delta: f64, changes: &[f64]) -> Self {
        let allowance = |&change: &f64| Allowance {
            growth: Interval::point(mul_down(epsilon, change)).exp_m1().lo().max(0.0),
            delta: mul_down(delta, change).max(0.0),
        };
        Self { allowances: changes.iter().map(allowance).collect() }
    }
}

impl Constraint for L1 {
    /// p <= e^epsilon q + delta and 1 - q <= e^epsilon (1 - p) + delta are both
    /// p - q - delta <= (e^epsilon - 1) min(q, 1 - p).
    fn holds(&self, entries: &[Probability], (first, last): (usize, usize), above: Probability) -> bool {
        let (Allowance { growth, delta }, below) = (self.allowances[first], entries[entries.len() - last]);
        let excess = (above.step_from(below) - Interval::point(delta)).hi();
        let smaller = below.value().lo().min(above.complement().lo()).max(0.0);
        excess <= mul_down(growth, smaller)
    }

    fn largest(&self, entries: &[Probability], change: usize) -> Probability {
        let (Allowance { growth, delta }, below) = (self.allowances[change], entries[entries.len() - change]);
        let risen = Probability::at_most(below.value().middle() * (1.0 + growth) + delta);
        let complement = (below.complement().middle() - delta) / (1.0 + growth);
        risen.min(Probability::with_complement(complement))
    }
}
