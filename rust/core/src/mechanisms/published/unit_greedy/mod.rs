//! `UnitGreedy`: each user gives one whole unit to its most preferred item that is not yet full; the one-item rule.
//!
//! Theorem: adding a user changes the units of at most one item, by exactly one. So the optimal release probability of
//! a count, pi(0) = 0 and pi(n) = min(e^epsilon pi(n-1) + delta, 1 - e^-epsilon (1 - pi(n-1) - delta), 1), is (epsilon,
//! delta)-DP, for users of any number of items. Source: whole units are ours; the rule is from Desfontaines, Voss,
//! Gipson and Mandayam, `PoPETs` 2022, Theorem 1. Condition: a user's order of preference depends on its own rows and
//! public tables only. Proof: `docs/algorithms/unit_greedy.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_rows::contributions::ItemOrder;
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::apart;
use crate::mechanisms::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, no_zcdp_without_noise};
use crate::mechanisms::{Mechanism, NoisyWeights, Properties};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::curve::{l1_curve, worthwhile_weight};
use dpsel_exact::numeric::UNIT;

use crate::weighting::{Greedy, Weighting};

/// One whole unit for one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitGreedy {
    /// The order in which a user looks for an item that is not full.
    #[serde(default)]
    pub order: ItemOrder,
}

impl Mechanism for UnitGreedy {
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn calibrate(&self, privacy: Privacy, _bound: L0Bound) -> Result<Calibration> {
        match privacy.validate()? {
            Privacy::PureDp { .. } => Err(no_pure_dp("UnitGreedy")),
            Privacy::Zcdp { .. } => Err(no_zcdp_without_noise("UnitGreedy")),
            Privacy::ApproxDp { epsilon, delta } => {
                let curve = l1_curve(epsilon, delta, UNIT)?;
                // A multiple of the quantum, which is a whole unit.
                let weighting = Weighting::Greedy(Greedy { cutoff: worthwhile_weight(&curve)? });
                Ok(Calibration::of(vec![Round { weighting, rule: Rule::Curve(curve) }]))
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
            statement: "(epsilon, delta)-DP for users of any number of items: adding a user changes one item's whole units, by \
                        one, and an item is released with the optimal probability of its units",
            neighbours: ADD_OR_REMOVE,
            source: "Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 1, for one item; the proof for all is on its page",
            proof: "docs/algorithms/unit_greedy.md",
        }
    }

    fn properties(&self) -> Properties {
        Properties {
            noisy_weights: NoisyWeights::Absent,
            item_order: Some(self.order),
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
    fn the_cutoff_is_whole_and_worth_its_weight() {
        let bound = L0Bound::new(1000).unwrap();
        for (epsilon, delta, units) in
            [(1.7, 8.1142e-5, 8), (1.765, 4.96e-5, 8), (0.5, 1e-6, 31), (50.0, 0.1, 2)]
        {
            let calibration =
                UnitGreedy::default().calibrate(Privacy::ApproxDp { epsilon, delta }, bound).unwrap();
            let [round] = &calibration.rounds[..] else { panic!("one round") };
            assert_eq!(round.weighting.cutoff(), units * UNIT, "{epsilon}");
            assert!(round.rule.curve().unwrap().half <= units * UNIT);
        }
    }
}
