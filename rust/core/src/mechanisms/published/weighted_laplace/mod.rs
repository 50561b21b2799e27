//! `WeightedLaplace`: a user of k items gives 1/k to each; Laplace noise; released from a threshold on.
//!
//! Theorem: Laplace noise of scale 1/epsilon on weights of L1 norm at most 1 and a threshold that some novel item
//! reaches with probability at most delta, whatever t <= D0 novel items of weight 1/t there are, satisfy
//! (epsilon, delta)-DP. Source: Gopi et al. (ICML 2020), weighted Laplace. Conditions: at most D0 items per user.
//! Proof: `docs/algorithms/weighted_laplace.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy, without_decision_slack};
use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::div_up;
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::apart;
use crate::mechanisms::shared::requirements::{ADD_OR_REMOVE, no_curve_zcdp, no_laplace_zcdp, no_pure_dp};
use crate::mechanisms::{Mechanism, Properties, ReleaseStep};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::Noisy;
use crate::threshold::calibration::smallest_threshold;
use crate::threshold::curve::{CurveSpec, l1_curve, l1_quantum};
use dpsel_exact::numeric::UNIT;

use crate::weighting::Weighting;

/// Weights 1/k with Laplace noise or a release curve.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedLaplace {
    /// How items are decided.
    #[serde(default)]
    pub release: ReleaseStep,
}

/// The curve for weights of L1 norm at most 1, in quanta of at most `largest`. A user of D0 items gives `least` to each
/// of them. Every quantum is private.
pub(super) fn curve_rule(mechanism: &str, privacy: Privacy, least: u64, largest: u64) -> Result<CurveSpec> {
    match privacy.validate()? {
        Privacy::PureDp { .. } => Err(no_pure_dp(mechanism)),
        Privacy::Zcdp { .. } => Err(no_curve_zcdp(mechanism)),
        Privacy::ApproxDp { epsilon, delta } => {
            l1_curve(epsilon, delta, l1_quantum(epsilon, delta, least).min(largest))
        }
    }
}

impl Mechanism for WeightedLaplace {
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        if self.release == ReleaseStep::Curve {
            let weighting = Weighting::EqualL1;
            let curve = curve_rule("WeightedLaplace", privacy, weighting.weight(bound.get()), UNIT)?;
            return Ok(Calibration::of(vec![Round { weighting, rule: Rule::Curve(curve) }]));
        }
        match without_decision_slack(privacy.validate()?, bound.get().into())? {
            Privacy::PureDp { .. } => Err(no_pure_dp("WeightedLaplace")),
            Privacy::Zcdp { .. } => Err(no_laplace_zcdp("WeightedLaplace")),
            Privacy::ApproxDp { epsilon, delta } => {
                let noise = Noise::Laplace { scale: div_up(1.0, epsilon) };
                let weighting = Weighting::EqualL1;
                let threshold = smallest_threshold(noise, weighting, bound, delta)?;
                Ok(Calibration::of(vec![Round { weighting, rule: Rule::Noisy(Noisy { noise, threshold }) }]))
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
        if self.release == ReleaseStep::Curve {
            return Guarantee {
                statement: "(epsilon, delta)-DP for weights of L1 norm at most 1 and any number of items: the release curve allows \
                            each change its part of epsilon and delta",
                neighbours: ADD_OR_REMOVE,
                source: "after Harrison and Manurangsi 2026; the proof is complete on its page",
                proof: "docs/algorithms/release_curves.md",
            };
        }
        Guarantee {
            statement: "(epsilon, delta)-DP: Laplace noise of scale 1/epsilon hides weights of L1 norm at most 1, and \
                        an item that nobody else holds is released with probability at most delta in all",
            neighbours: ADD_OR_REMOVE,
            source: "Gopi et al. 2020",
            proof: "docs/algorithms/weighted_laplace.md",
        }
    }

    fn properties(&self) -> Properties {
        Properties {
            noisy_weights: self.release.noisy_weights(),
            item_order: None,
            reach: 1,
            looks: false,
            flaw: None,
        }
    }
}
