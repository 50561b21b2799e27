//! `CountGaussian`: the number of users of an item plus Gaussian noise, released from a threshold on.
//!
//! Theorem, approximate DP: the exact analysis of one thresholded Gaussian round, in which noise and threshold may both
//! use the whole delta (after Wilkins, Kifer, Zhang and Karrer, JPC 2024; proof in `docs/algorithms/accounting.md`).
//! Theorem, approximate zCDP: the proof of Theorem 13 of Swanberg et al. (`PoPETs` 2023) with L2 sensitivity sqrt(D0).
//! Conditions: each user counts once per item and for at most D0 items. Page: `docs/algorithms/count_gaussian.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy, without_decision_slack};
use serde::{Deserialize, Serialize};

use super::budget_split::one_more_round;
use super::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, zcdp_sigma};
use super::{Mechanism, NoisyWeights, Properties};
use crate::counting::NumbersAsked;
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::Noisy;
use crate::threshold::calibration::{calibrate_single_round, gaussian_noise, smallest_threshold};
use crate::weighting::Weighting;

/// Counts of users with Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountGaussian {}

impl Mechanism for CountGaussian {
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        let weighting = Weighting::Count;
        let rule = match without_decision_slack(privacy.validate()?, bound.get().into())? {
            Privacy::PureDp { .. } => return Err(no_pure_dp("CountGaussian")),
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
        one_more_round(privacy, bound, asked, |left| self.calibrate(left, bound))
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP by the exact analysis of one thresholded Gaussian round, or delta-approximate rho-zCDP, for \
                        counts of L2 sensitivity sqrt(D0)",
            neighbours: ADD_OR_REMOVE,
            source: "Swanberg et al. 2023, Theorem 13; Balle and Wang 2018; after Wilkins et al. 2024",
            proof: "docs/algorithms/count_gaussian.md",
        }
    }

    fn properties(&self) -> Properties {
        Properties {
            noisy_weights: NoisyWeights::OfRound,
            item_order: None,
            reach: 1,
            looks: false,
            flaw: None,
        }
    }
}
