//! A budget that several releases about the same users share.
//!
//! The guarantees of separate releases add up: epsilons and deltas under basic composition (Dwork and Roth 2014,
//! Theorem 3.16), rho by addition and delta by 1 - (1 - a)(1 - b) under approximate zCDP (Bun and Steinke 2016, Lemma
//! 8.2). Costs may be chosen by what earlier releases showed, as the limit is fixed: a privacy filter (Rogers et al. 2016,
//! Theorem 3.6; Whitehouse et al. 2023). Every sum is rounded up.

use serde::{Deserialize, Serialize};

use super::Privacy;
use crate::numeric::{Interval, add_up, div_down, sub_down};
use crate::{Error, Result};

/// A limit and what was spent of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    limit: Privacy,
    /// Epsilon or rho spent so far, rounded up.
    spent: f64,
    /// Delta spent so far, rounded up.
    spent_delta: f64,
}

impl Budget {
    /// A budget of which nothing is spent.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for parameters out of range.
    pub fn new(limit: Privacy) -> Result<Self> {
        Ok(Self { limit: limit.validate()?, spent: 0.0, spent_delta: 0.0 })
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> Privacy {
        self.limit
    }

    /// Epsilon (or rho) and delta spent so far, rounded up.
    #[must_use]
    pub fn spent(&self) -> (f64, f64) {
        (self.spent, self.spent_delta)
    }

    /// Epsilon (or rho) and delta that one more release may cost, rounded down.
    #[must_use]
    pub fn remaining(&self) -> (f64, f64) {
        let (limit, limit_delta, _) = parts(self.limit);
        let delta = match self.limit {
            // The x with 1 - (1 - spent)(1 - x) = limit.
            Privacy::Zcdp { .. } if self.spent_delta > 0.0 => {
                let (limit, spent) = (Interval::point(limit_delta), Interval::point(self.spent_delta));
                ((limit - spent) / (Interval::ONE - spent)).lo()
            }
            Privacy::PureDp { .. } | Privacy::ApproxDp { .. } | Privacy::Zcdp { .. } => {
                left(limit_delta, self.spent_delta)
            }
        };
        (left(limit, self.spent), delta.max(0.0))
    }

    /// One of `parts` equal shares of the whole limit, rounded down so that all of them fit.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if `parts` is 0.
    pub fn share(&self, parts: u32) -> Result<Privacy> {
        if parts == 0 {
            return Err(Error::parameter("parts", "at least 1", parts, "give the number of releases"));
        }
        // Each of the additions of `spend` may round up once; a few more steps down make room for all of them.
        let room = 1.0 - f64::from(parts) * 4.0 * f64::EPSILON;
        let cut = |x: f64| if parts == 1 { x } else { div_down(x, f64::from(parts)) * room };
        Ok(match self.limit {
            Privacy::PureDp { epsilon } => Privacy::PureDp { epsilon: cut(epsilon) },
            Privacy::ApproxDp { epsilon, delta } => {
                Privacy::ApproxDp { epsilon: cut(epsilon), delta: cut(delta) }
            }
            Privacy::Zcdp { rho, delta } => Privacy::Zcdp { rho: cut(rho), delta: cut(delta) },
        })
    }

    /// Record a release of this cost.
    ///
    /// # Contract
    /// If it succeeds for a sequence of releases, all of them together satisfy the limit. If it fails nothing is
    /// recorded.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] if the limit would be passed; [`Error::Incompatible`] if the cost is of a
    /// different kind (pure costs fit into approximate budgets); [`Error::InvalidParameter`].
    pub fn spend(&mut self, cost: Privacy) -> Result<()> {
        let (limit, limit_delta, kind) = parts(self.limit);
        let (amount, delta, cost_kind) = parts(cost.validate()?);
        let pure_in_approx = matches!((self.limit, cost), (Privacy::ApproxDp { .. }, Privacy::PureDp { .. }));
        if kind != cost_kind && !pure_in_approx {
            return Err(Error::Incompatible {
                what: format!("a cost in {cost_kind} cannot be spent from a budget in {kind}"),
                fix: "convert the cost first, or keep one budget per kind",
            });
        }
        let total = sum(self.spent, amount);
        let total_delta = match self.limit {
            Privacy::Zcdp { .. } => either(self.spent_delta, delta),
            Privacy::PureDp { .. } | Privacy::ApproxDp { .. } => sum(self.spent_delta, delta),
        };
        if total > limit || total_delta > limit_delta {
            let (left, left_delta) = self.remaining();
            return Err(Error::BudgetExceeded {
                asked: words(cost),
                remaining: format!("{left:e} and delta {left_delta:e} in {kind}"),
            });
        }
        (self.spent, self.spent_delta) = (total, total_delta);
        Ok(())
    }
}

/// Epsilon or rho, delta, and the name of the kind.
fn parts(privacy: Privacy) -> (f64, f64, &'static str) {
    match privacy {
        Privacy::PureDp { epsilon } => (epsilon, 0.0, "pure DP"),
        Privacy::ApproxDp { epsilon, delta } => (epsilon, delta, "approximate DP"),
        Privacy::Zcdp { rho, delta } => (rho, delta, "approximate zCDP"),
    }
}

fn words(privacy: Privacy) -> String {
    match privacy {
        Privacy::PureDp { epsilon } => format!("epsilon {epsilon}"),
        Privacy::ApproxDp { epsilon, delta } => format!("epsilon {epsilon} and delta {delta:e}"),
        Privacy::Zcdp { rho, delta } => format!("rho {rho} and delta {delta:e}"),
    }
}

/// a + b rounded up, exact where one of them is 0.
fn sum(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { a + b } else { add_up(a, b) }
}

/// limit - spent rounded down, exact where nothing is spent.
fn left(limit: f64, spent: f64) -> f64 {
    if spent == 0.0 { limit } else { sub_down(limit, spent).max(0.0) }
}

/// 1 - (1 - a)(1 - b) = a + b - a b, rounded up.
fn either(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        return a + b;
    }
    let (a, b) = (Interval::point(a), Interval::point(b));
    (a + b * (Interval::ONE - a)).hi()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_and_overspending_is_refused() {
        for limit in [
            Privacy::PureDp { epsilon: 1.0 },
            Privacy::ApproxDp { epsilon: 0.7, delta: 1e-6 },
            Privacy::Zcdp { rho: 0.1, delta: 1e-5 },
        ] {
            for n in [1, 2, 3, 10, 97] {
                let mut budget = Budget::new(limit).unwrap();
                let share = budget.share(n).unwrap();
                for _ in 0..n {
                    budget.spend(share).unwrap();
                }
                let before = budget;
                assert!(matches!(budget.spend(share), Err(Error::BudgetExceeded { .. })));
                assert_eq!(budget, before);
            }
        }
    }

    #[test]
    fn what_remains_can_be_spent_and_no_more() {
        let mut budget = Budget::new(Privacy::Zcdp { rho: 1.0, delta: 0.5 }).unwrap();
        budget.spend(Privacy::Zcdp { rho: 0.3, delta: 0.3 }).unwrap();
        let (rho, delta) = budget.remaining();
        assert!((delta - 2.0 / 7.0).abs() < 1e-12);
        assert!(budget.clone().spend(Privacy::Zcdp { rho: rho * 1.001, delta }).is_err());
        budget.spend(Privacy::Zcdp { rho: rho * 0.999, delta: delta * 0.999 }).unwrap();
    }

    #[test]
    fn kinds_do_not_mix() {
        let mut budget = Budget::new(Privacy::ApproxDp { epsilon: 1.0, delta: 1e-6 }).unwrap();
        budget.spend(Privacy::PureDp { epsilon: 0.5 }).unwrap();
        assert!(matches!(
            budget.spend(Privacy::Zcdp { rho: 0.1, delta: 1e-9 }),
            Err(Error::Incompatible { .. })
        ));
        assert!(budget.share(0).is_err());
        let mut pure = Budget::new(Privacy::PureDp { epsilon: 1.0 }).unwrap();
        assert!(pure.spend(Privacy::ApproxDp { epsilon: 0.1, delta: 1e-9 }).is_err());
    }
}
