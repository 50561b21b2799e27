//! `PolicyGaussian`: users in order move their items towards a cutoff by an L2 distance of at most one; Gaussian noise.
//!
//! Theorem: adding a user moves the weights by an L2 distance of at most 1 + slack, where the slack bounds the rounding
//! of all steps of up to 2^32 users, and a user's t novel items get equal weights of at most 1/sqrt(t). So noise scaled
//! by 1 + slack and the threshold of `WeightedGaussian` hold. Source: Gopi et al. (ICML 2020), policy Gaussian; the
//! slack and the exact analysis are ours. Conditions: at most D0 items per user. Proof:
//! `docs/algorithms/policy_gaussian.md`.

use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy, without_decision_slack};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::of_step;
use crate::mechanisms::shared::policy::{curve_cutoff, cutoff, validate};
use crate::mechanisms::shared::requirements::{ADD_OR_REMOVE, no_curve_zcdp, no_pure_dp, zcdp_sigma};
use crate::mechanisms::{Mechanism, Properties, ReleaseStep};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::Noisy;
use crate::threshold::calibration::{calibrate_single_round, gaussian_noise, smallest_threshold};
use crate::threshold::curve::l2_continuous_curve;
use dpsel_exact::numeric::UNIT;

use crate::weighting::{ALL_ITEMS, PolicyL2, Weighting};

/// The slack first tried, 2^-13.35 < 1e-4 of a unit; more rounding than that needs a larger one.
const LEAST_SLACK: u64 = UNIT / 10_000;
/// How often the slack is doubled before the request is refused: up to 5.12 %.
const DOUBLINGS: u32 = 9;

/// Straight steps towards a cutoff, with Gaussian noise or a release curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyGaussian {
    /// The distance of the cutoff above the threshold, in standard deviations of the noise.
    pub alpha: f64,
    /// How often each user comes.
    pub passes: u32,
    /// How items are decided.
    #[serde(default)]
    pub release: ReleaseStep,
}

impl PolicyGaussian {
    /// The round with the least slack that covers the rounding at its own cutoff.
    fn round(&self, privacy: Privacy, bound: L0Bound) -> Result<Round> {
        for doubling in 0..=DOUBLINGS {
            let norm = UNIT + (LEAST_SLACK << doubling);
            // Calibration uses the norm and the weight of novel items, not the cutoff.
            let policy = PolicyL2 { cutoff: UNIT, passes: self.passes, norm };
            let (rule, cutoff) = self.rule(policy, privacy, bound)?;
            if PolicyL2::proved_norm(cutoff, self.passes, bound.get()).is_some_and(|proved| proved <= norm) {
                let weighting = Weighting::PolicyL2(PolicyL2 { cutoff, ..policy });
                return Ok(Round { weighting, rule });
            }
        }
        Err(Error::Calibration {
            what: "PolicyGaussian: steps this small would be rounded too much".into(),
            fix: "lower max_items_per_user, alpha or passes, or raise epsilon or rho; WeightedGaussian has no such limit",
        })
    }

    /// The rule for weights of this norm, and the cutoff that goes with it.
    fn rule(&self, policy: PolicyL2, privacy: Privacy, bound: L0Bound) -> Result<(Rule, u64)> {
        if self.release == ReleaseStep::Noise {
            let rule = single_round(policy, privacy, bound)?;
            return Ok((Rule::Noisy(rule), cutoff(rule.threshold, rule.noise, self.alpha)?));
        }
        let curve = match privacy {
            Privacy::PureDp { .. } => return Err(no_pure_dp("PolicyGaussian")),
            Privacy::Zcdp { .. } => return Err(no_curve_zcdp("PolicyGaussian")),
            Privacy::ApproxDp { epsilon, delta } => l2_continuous_curve(epsilon, delta, policy.norm)?,
        };
        Ok((Rule::Curve(curve), curve_cutoff(curve, self.alpha)?))
    }
}

fn single_round(policy: PolicyL2, privacy: Privacy, bound: L0Bound) -> Result<Noisy> {
    let weighting = Weighting::PolicyL2(policy);
    match privacy {
        Privacy::PureDp { .. } => Err(no_pure_dp("PolicyGaussian")),
        Privacy::ApproxDp { epsilon, delta } => calibrate_single_round(weighting, bound, epsilon, delta),
        Privacy::Zcdp { rho, delta } => {
            let noise = gaussian_noise(weighting, bound, zcdp_sigma(rho))?;
            Ok(Noisy { noise, threshold: smallest_threshold(noise, weighting, bound, delta)? })
        }
    }
}

impl Mechanism for PolicyGaussian {
    fn validate(&self) -> Result<()> {
        validate(self.alpha, self.passes)
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        let privacy = match self.release {
            ReleaseStep::Noise => without_decision_slack(privacy.validate()?, ALL_ITEMS)?,
            ReleaseStep::Curve => privacy.validate()?,
        };
        Ok(Calibration::of(vec![self.round(privacy, bound)?]))
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
            return Guarantee {
                statement: "(epsilon, delta)-DP: adding a user moves the weights by an L2 distance of at most 1 plus the slack of \
                            rounding, and the continuous release curve is for changes of that size of any number of items",
                neighbours: ADD_OR_REMOVE,
                source: "Gopi et al. 2020; after Harrison and Manurangsi 2026",
                proof: "docs/algorithms/policy_gaussian.md",
            };
        }
        Guarantee {
            statement: "(epsilon, delta)-DP by the exact analysis of one thresholded Gaussian round, or delta-approximate rho-zCDP: \
                        adding a user moves the weights by an L2 distance of at most 1 plus the slack of rounding, by which \
                        the noise is scaled",
            neighbours: ADD_OR_REMOVE,
            source: "Gopi et al. 2020; Swanberg et al. 2023, Theorem 13; Balle and Wang 2018; after Wilkins et al. 2024",
            proof: "docs/algorithms/policy_gaussian.md",
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

#[cfg(test)]
mod tests {
    use dpsel_exact::noise::Noise;

    use super::*;
    use crate::mechanisms::WeightedGaussian;

    fn only_round(mechanism: &dyn Mechanism, privacy: Privacy, bound: u64) -> (Weighting, f64, f64) {
        let calibration = mechanism.calibrate(privacy, L0Bound::new(bound).unwrap()).unwrap();
        let [round] = &calibration.rounds[..] else { panic!("one round") };
        let Some(Noisy { noise: Noise::Gaussian { sigma }, threshold }) = round.rule.noisy() else {
            panic!("Gaussian")
        };
        (round.weighting, sigma, threshold.value())
    }

    #[test]
    fn noise_and_threshold_are_nearly_those_of_weighted_gaussian() {
        for (privacy, bound) in [
            (Privacy::Zcdp { rho: 0.1, delta: 1e-5 }, 100),
            (Privacy::ApproxDp { epsilon: 1.0, delta: 1e-5 }, 100),
            (Privacy::ApproxDp { epsilon: 8.0, delta: 1e-6 }, 1),
            (Privacy::ApproxDp { epsilon: 0.1, delta: 1e-5 }, 1000),
        ] {
            let (policy, sigma, threshold) = only_round(
                &PolicyGaussian { alpha: 5.0, passes: 1, release: ReleaseStep::Noise },
                privacy,
                bound,
            );
            let (_, plain_sigma, plain_threshold) = only_round(&WeightedGaussian::default(), privacy, bound);
            let Weighting::PolicyL2(policy) = policy else { panic!("policy") };
            let slack = policy.norm().hi();
            assert!(slack < 1.001 && sigma >= plain_sigma * slack * (1.0 - 1e-9), "{slack}");
            assert!(sigma < plain_sigma * 1.002, "{sigma} {plain_sigma}");
            assert!((plain_threshold..plain_threshold * 1.002).contains(&threshold), "{threshold}");
        }
    }

    #[test]
    fn rounding_out_of_control_is_refused() {
        let bound = L0Bound::new(10_000_000).unwrap();
        let privacy = Privacy::Zcdp { rho: 1e-6, delta: 1e-9 };
        let error = PolicyGaussian { alpha: 5.0, passes: 1, release: ReleaseStep::Noise }
            .calibrate(privacy, bound)
            .unwrap_err();
        assert!(matches!(error, Error::Calibration { .. }), "{error}");
    }
}
