//! `OneItem`: the optimal rule where every user has one item. No noise, no threshold.
//!
//! Theorem: with pi(0) = 0 and pi(n) = min(e^epsilon pi(n-1) + delta, 1 - e^-epsilon (1 - pi(n-1) - delta), 1),
//! releasing an item of n users with probability pi(n) is (epsilon, delta)-DP, and no rule releases it likelier
//! (Desfontaines, Voss, Gipson and Mandayam, `PoPETs` 2022). Condition: `max_items_per_user` = 1. Page:
//! `docs/algorithms/one_item.md`.

use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::apart;
use crate::mechanisms::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, no_zcdp_without_noise};
use crate::mechanisms::{Mechanism, NoisyWeights, Properties};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::curve::l1_curve;
use dpsel_exact::numeric::UNIT;

use crate::weighting::Weighting;

/// The optimal release probability of counts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneItem {}

impl Mechanism for OneItem {
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        match privacy.validate()? {
            Privacy::PureDp { .. } => Err(no_pure_dp("OneItem")),
            Privacy::Zcdp { .. } => Err(no_zcdp_without_noise("OneItem")),
            Privacy::ApproxDp { .. } if bound.get() > 1 => Err(Error::Incompatible {
                what: "OneItem needs max_items_per_user = 1; with more items its guarantee does not hold"
                    .into(),
                fix: "set max_items_per_user=1, or use Sips(release=\"curve\")",
            }),
            Privacy::ApproxDp { epsilon, delta } => {
                // One user changes one count by one: the L1 curve whose only step is a whole unit.
                let rule = Rule::Curve(l1_curve(epsilon, delta, UNIT)?);
                Ok(Calibration::of(vec![Round { weighting: Weighting::Count, rule }]))
            }
        }
    }

    fn calibrate_beside(
        &self,
        privacy: Privacy,
        bound: L0Bound,
        asked: &NumbersAsked,
    ) -> Result<Calibration> {
        apart(privacy, bound, asked, |left| self.calibrate(left, bound))
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP by the optimal release probability of a count, for users of one item",
            neighbours: ADD_OR_REMOVE,
            source: "Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 1",
            proof: "docs/algorithms/one_item.md",
        }
    }

    fn properties(&self) -> Properties {
        Properties {
            noisy_weights: NoisyWeights::Absent,
            item_order: None,
            reach: 1,
            looks: false,
            flaw: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_for_one_item_and_approximate_dp() {
        let (one, two) = (L0Bound::new(1).unwrap(), L0Bound::new(2).unwrap());
        let approx = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-5 };
        assert_eq!(OneItem {}.calibrate(approx, one).unwrap().rounds.len(), 1);
        let refused = [
            (approx, two),
            (Privacy::Zcdp { rho: 0.1, delta: 1e-5 }, one),
            (Privacy::PureDp { epsilon: 1.0 }, one),
        ];
        for (privacy, bound) in refused {
            assert!(matches!(OneItem {}.calibrate(privacy, bound), Err(Error::Incompatible { .. })));
        }
    }
}
