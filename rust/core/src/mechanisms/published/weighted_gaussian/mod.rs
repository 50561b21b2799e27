//! `WeightedGaussian`: a user of k items gives 1/sqrt(k) to each; Gaussian noise; released from a threshold on.
//!
//! Theorem, approximate DP: the exact analysis of one thresholded Gaussian round, in which noise and threshold may both
//! use the whole delta (after Wilkins, Kifer, Zhang and Karrer, JPC 2024; proof in `docs/algorithms/accounting.md`).
//! Theorem, approximate zCDP: Swanberg, Desfontaines and Haney (`PoPETs` 2023), Algorithm 2 and Theorem 13.
//! Conditions: each user counts once per item and for at most D0 items. Page: `docs/algorithms/weighted_gaussian.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy, without_decision_slack};
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::of_step;
use crate::mechanisms::shared::curves::{CURVE_GUARANTEE, curve_rounds};
use crate::mechanisms::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, zcdp_sigma};
use crate::mechanisms::{Mechanism, Properties, ReleaseStep};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::Noisy;
use crate::threshold::calibration::{calibrate_single_round, gaussian_noise, smallest_threshold};
use crate::weighting::Weighting;

/// Weights 1/sqrt(k) with Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedGaussian {
    /// How items are decided.
    #[serde(default)]
    pub release: ReleaseStep,
}

impl Mechanism for WeightedGaussian {
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        if self.release == ReleaseStep::Curve {
            return curve_rounds("WeightedGaussian", privacy, bound, &[1.0]);
        }
        let weighting = Weighting::EqualL2;
        let rule = match without_decision_slack(privacy.validate()?, bound.get().into())? {
            Privacy::PureDp { .. } => return Err(no_pure_dp("WeightedGaussian")),
            Privacy::ApproxDp { epsilon, delta } => calibrate_single_round(weighting, bound, epsilon, delta)?,
            Privacy::Zcdp { rho, delta } => {
                let noise = gaussian_noise(weighting, bound, zcdp_sigma(rho))?;
                Noisy { noise, threshold: smallest_threshold(noise, weighting, bound, delta)? }
            }
        };
        Ok(Calibration::of(vec![Round { weighting, rule: Rule::Noisy(rule) }]))
    }

    fn calibrate_beside(
        &self,
        privacy: Privacy,
        bound: L0Bound,
        asked: &NumbersAsked,
    ) -> Result<Calibration> {
        of_step(self.release, privacy, bound, asked, |left| self.calibrate(left, bound))
    }

    fn guarantee(&self) -> Guarantee {
        if self.release == ReleaseStep::Curve {
            return CURVE_GUARANTEE;
        }
        Guarantee {
            statement: "(epsilon, delta)-DP by the exact analysis of one thresholded Gaussian round, or delta-approximate rho-zCDP, for \
                        weights of L2 norm at most 1",
            neighbours: ADD_OR_REMOVE,
            source: "Swanberg et al. 2023, Theorem 13; Balle and Wang 2018; after Wilkins et al. 2024",
            proof: "docs/algorithms/weighted_gaussian.md",
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
