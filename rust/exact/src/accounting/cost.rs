//! The cost of one call: its items and its published counts together, for one kind of neighbours.
//!
//! The theorems are in `docs/algorithms/accounting.md`, section 9.

use serde::Serialize;

use super::Privacy;
use crate::Result;
use crate::numeric::Interval;

/// The privacy cost of one call, as its report states it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The guarantee of the items.
    pub items: Privacy,
    /// The guarantee of the counts that are published with them, if these have a budget of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Privacy>,
    /// The neighbouring tables that all of it is for, as requests name them.
    pub neighbours: &'static str,
    /// The guarantee of items and counts together.
    pub total: Privacy,
}

impl Cost {
    /// The name of adding or removing one user.
    pub const ADD_REMOVE: &'static str = "add_remove";

    /// The cost of items alone.
    #[must_use]
    pub fn of_items(items: Privacy, neighbours: &'static str) -> Self {
        Self { items, counts: None, neighbours, total: items }
    }

    /// The cost of items and of their counts.
    ///
    /// # Errors
    /// As [`composed`].
    pub fn with_counts(items: Privacy, counts: Privacy, neighbours: &'static str) -> Result<Self> {
        Ok(Self { items, counts: Some(counts), neighbours, total: composed(items, counts)? })
    }
}

/// The joint guarantee of two releases. The second may depend on the first.
///
/// # Contract
/// Every figure of the result is at least the one of the theorem.
///
/// # Errors
/// [`crate::Error::InvalidParameter`] if no number below infinity (or no delta below 1) is left.
pub fn composed(first: Privacy, second: Privacy) -> Result<Privacy> {
    use Privacy::{ApproxDp, PureDp, Zcdp};
    let sum = match (first, second) {
        (PureDp { epsilon }, PureDp { epsilon: other }) => PureDp { epsilon: sum_up(epsilon, other) },
        (ApproxDp { epsilon, delta }, PureDp { epsilon: other })
        | (PureDp { epsilon: other }, ApproxDp { epsilon, delta }) => {
            ApproxDp { epsilon: sum_up(epsilon, other), delta }
        }
        (ApproxDp { epsilon, delta }, ApproxDp { epsilon: other, delta: other_delta }) => {
            ApproxDp { epsilon: sum_up(epsilon, other), delta: sum_up(delta, other_delta) }
        }
        (Zcdp { .. }, _) | (_, Zcdp { .. }) => {
            let ((rho, delta), (other, other_delta)) = (rho_delta(first), rho_delta(second));
            Zcdp { rho: sum_up(rho, other), delta: either_up(delta, other_delta) }
        }
    };
    sum.validate()
}

/// The approximate zCDP that a guarantee implies: (epsilon, delta)-DP is delta-approximately (epsilon^2 / 2)-zCDP.
fn rho_delta(privacy: Privacy) -> (f64, f64) {
    let half_square = |epsilon: f64| {
        let (square, half) = (epsilon * epsilon, epsilon * epsilon * 0.5);
        // Exact products stay: halving is exact as well, away from the smallest numbers.
        let exact = epsilon.mul_add(epsilon, -square) <= 0.0 && half.is_normal();
        if exact { half } else { (Interval::point(epsilon).square() * Interval::point(0.5)).hi() }
    };
    match privacy {
        Privacy::PureDp { epsilon } => (half_square(epsilon), 0.0),
        Privacy::ApproxDp { epsilon, delta } => (half_square(epsilon), delta),
        Privacy::Zcdp { rho, delta } => (rho, delta),
    }
}

/// The sum, rounded up only where it is not exact (the error of a sum is a number: Knuth's two-sum).
fn sum_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let rest = sum - a;
    let error = (a - (sum - rest)) + (b - rest);
    if error > 0.0 { sum.next_up() } else { sum }
}

/// 1 - (1 - a)(1 - b), rounded up.
fn either_up(a: f64, b: f64) -> f64 {
    let (one, other) = (Interval::point(a), Interval::point(b));
    if a == 0.0 || b == 0.0 { a.max(b) } else { (one + other - one * other).hi() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURE: Privacy = Privacy::PureDp { epsilon: 0.1 };
    const APPROX: Privacy = Privacy::ApproxDp { epsilon: 0.2, delta: 1e-6 };
    const ZCDP: Privacy = Privacy::Zcdp { rho: 0.3, delta: 1e-5 };

    #[test]
    fn sums_are_rounded_up() {
        let Privacy::PureDp { epsilon } = composed(PURE, Privacy::PureDp { epsilon: 0.2 }).unwrap() else {
            unreachable!("pure and pure are pure");
        };
        assert!((0.300_000_000_000_000_04..0.300_000_000_000_001).contains(&epsilon));
        let halves = Privacy::PureDp { epsilon: 0.5 };
        assert_eq!(composed(halves, halves).unwrap(), Privacy::PureDp { epsilon: 1.0 });
        let Privacy::ApproxDp { epsilon, delta } = composed(APPROX, APPROX).unwrap() else {
            unreachable!("approximate guarantees stay so");
        };
        assert!(epsilon >= 0.4 && (2e-6..2.000_001e-6).contains(&delta));
    }

    #[test]
    fn everything_composes_with_zcdp() {
        for (other, rho, delta) in [(PURE, 0.005, 0.0), (APPROX, 0.02, 1e-6), (ZCDP, 0.3, 1e-5)] {
            for both in [composed(ZCDP, other).unwrap(), composed(other, ZCDP).unwrap()] {
                let Privacy::Zcdp { rho: sum, delta: either } = both else {
                    unreachable!("zCDP stays so");
                };
                assert!((sum - 0.3 - rho).abs() < 1e-12 && sum >= 0.3 + rho - 1e-16, "{sum}");
                let exact = 1e-5 + delta - 1e-5 * delta;
                assert!(either >= exact && either < exact * (1.0 + 1e-9), "{either}");
            }
        }
    }

    #[test]
    fn what_is_no_guarantee_any_more_is_refused() {
        let half = Privacy::ApproxDp { epsilon: 1.0, delta: 0.5 };
        assert!(composed(half, half).is_err());
        let large = Privacy::PureDp { epsilon: f64::MAX };
        assert!(composed(large, large).is_err() && composed(ZCDP, large).is_err());
    }
}
