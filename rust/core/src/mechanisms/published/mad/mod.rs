//! `Mad`: part of the weight of an item above a limit returns to the users who gave it, for their other items; released
//! by a continuous curve.
//!
//! Theorem: adding a user moves the weights by an L2 distance of at most 1 + 1e-4, so the continuous release curve for
//! that norm is (epsilon, delta)-DP for any number of items. Source: the idea is from Chen, Cohen-Addad, Epasto and
//! Zadimoghaddam (ICML 2025); construction and proof are ours. Conditions: at most 2^32 users and items. Proof:
//! `docs/algorithms/mad.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::apart;
use crate::mechanisms::shared::policy::{curve_cutoff, validate};
use crate::mechanisms::shared::requirements::{ADD_OR_REMOVE, no_curve_zcdp, no_pure_dp};
use crate::mechanisms::{Mechanism, NoisyWeights, Properties};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::curve::{CurveSpec, l2_continuous_curve};
use crate::weighting::{self, Weighting};

/// Of users of more items nothing returns. The proof's terms for rounding grow with the root of this.
const MOST: u32 = 400;

/// Adaptive weights with a release curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mad {
    /// The distance above even odds at which items stop to keep weight, in distances from even odds to odds of 27 : 5.
    pub alpha: f64,
}

impl Mad {
    /// The weighting for the curve that decides.
    pub(super) fn weighting(self, curve: CurveSpec, bound: L0Bound) -> Result<Weighting> {
        let (limit, norm) = (curve_cutoff(curve, self.alpha)?, weighting::MadWeights::NORM);
        Ok(Weighting::Mad(weighting::MadWeights { limit, most: bound.get().min(MOST), norm }))
    }
}

impl Mechanism for Mad {
    fn validate(&self) -> Result<()> {
        validate(self.alpha, 1)
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        let curve = match privacy.validate()? {
            Privacy::PureDp { .. } => return Err(no_pure_dp("Mad")),
            Privacy::Zcdp { .. } => return Err(no_curve_zcdp("Mad")),
            Privacy::ApproxDp { epsilon, delta } => {
                l2_continuous_curve(epsilon, delta, weighting::MadWeights::NORM)?
            }
        };
        let round = Round { weighting: self.weighting(curve, bound)?, rule: Rule::Curve(curve) };
        Ok(Calibration::of(vec![round]))
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
            statement: "(epsilon, delta)-DP: adding a user moves the weights by an L2 distance of at most 1 plus the slack of \
                        rounding, and the continuous release curve is for changes of that size of any number of items",
            neighbours: ADD_OR_REMOVE,
            source: "after Chen, Cohen-Addad, Epasto and Zadimoghaddam 2025; the proof is complete on its page",
            proof: "docs/algorithms/mad.md",
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
