//! `PolicyLaplace`: users in order raise their items below a cutoff at equal speed; Laplace noise.
//!
//! Theorem: adding a user raises the weights by at most one unit in all, and a user's t novel items get at most the
//! equal share 1/t (rounded up) each. So Laplace noise of scale 1/epsilon and a threshold that some novel item reaches
//! with probability at most delta satisfy (epsilon, delta)-DP. Source: Gopi et al. (ICML 2020), policy Laplace.
//! Conditions: at most D0 items per user. Proof: `docs/algorithms/policy_laplace.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy, without_decision_slack};
use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::div_up;
use serde::{Deserialize, Serialize};

use super::weighted_laplace::curve_rule;
use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::apart;
use crate::mechanisms::shared::policy::{curve_cutoff, cutoff, validate};
use crate::mechanisms::shared::requirements::{ADD_OR_REMOVE, no_laplace_zcdp, no_pure_dp};
use crate::mechanisms::{Mechanism, Properties, ReleaseStep};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::Noisy;
use crate::threshold::calibration::smallest_threshold;
use dpsel_exact::numeric::UNIT;

use crate::weighting::{ALL_ITEMS, PolicyL1, Weighting};

/// Equal raises up to a cutoff, with Laplace noise or a release curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyLaplace {
    /// The distance of the cutoff above the threshold, in scales of the noise.
    pub alpha: f64,
    /// How often each user comes.
    pub passes: u32,
    /// How items are decided.
    #[serde(default)]
    pub release: ReleaseStep,
}

impl PolicyLaplace {
    fn round(&self, bound: L0Bound, epsilon: f64, delta: f64) -> Result<Round> {
        let noise = Noise::Laplace { scale: div_up(1.0, epsilon) };
        // The weight of novel items does not depend on the cutoff.
        let any_cutoff = PolicyL1 { cutoff: UNIT, passes: self.passes };
        let threshold = smallest_threshold(noise, Weighting::PolicyL1(any_cutoff), bound, delta)?;
        let cutoff = cutoff(threshold, noise, self.alpha)?;
        let weighting = Weighting::PolicyL1(PolicyL1 { cutoff, ..any_cutoff });
        Ok(Round { weighting, rule: Rule::Noisy(Noisy { noise, threshold }) })
    }

    /// The round with a curve: users place whole quanta.
    fn curve_round(&self, privacy: Privacy, bound: L0Bound) -> Result<Round> {
        // In each pass a user has at least one quantum to place.
        let largest = UNIT / u64::from(self.passes);
        let curve = curve_rule("PolicyLaplace", privacy, Weighting::EqualL1.weight(bound.get()), largest)?;
        let policy = PolicyL1 { cutoff: curve_cutoff(curve, self.alpha)?, passes: self.passes };
        Ok(Round { weighting: Weighting::PolicyL1(policy), rule: Rule::Curve(curve) })
    }
}

impl Mechanism for PolicyLaplace {
    fn validate(&self) -> Result<()> {
        validate(self.alpha, self.passes)
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        if self.release == ReleaseStep::Curve {
            return Ok(Calibration::of(vec![self.curve_round(privacy, bound)?]));
        }
        match without_decision_slack(privacy.validate()?, ALL_ITEMS)? {
            Privacy::PureDp { .. } => Err(no_pure_dp("PolicyLaplace")),
            Privacy::Zcdp { .. } => Err(no_laplace_zcdp("PolicyLaplace")),
            Privacy::ApproxDp { epsilon, delta } => {
                Ok(Calibration::of(vec![self.round(bound, epsilon, delta)?]))
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
                statement: "(epsilon, delta)-DP for any number of items: adding a user raises the weights by at most one unit in all, \
                            in whole quanta, and the release curve allows each change its part of epsilon and delta",
                neighbours: ADD_OR_REMOVE,
                source: "Gopi et al. 2020; after Harrison and Manurangsi 2026",
                proof: "docs/algorithms/policy_laplace.md",
            };
        }
        Guarantee {
            statement: "(epsilon, delta)-DP: adding a user raises the weights by at most one unit in all, which Laplace \
                        noise of scale 1/epsilon hides, and an item that nobody else holds is released with \
                        probability at most delta in all",
            neighbours: ADD_OR_REMOVE,
            source: "Gopi et al. 2020",
            proof: "docs/algorithms/policy_laplace.md",
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
    use super::*;

    /// Others react to a user, so the laws of all decisions may change.
    #[test]
    fn all_decisions_are_paid_for() {
        let bound = L0Bound::new(1).unwrap();
        let calibrate = |delta| {
            let policy = PolicyLaplace { alpha: 3.0, passes: 1, release: ReleaseStep::Noise };
            policy.calibrate(Privacy::ApproxDp { epsilon: 1.0, delta }, bound)
        };
        // 2^32 decisions of 2^-127 cost (1 + e) 2.5e-29.
        assert!(calibrate(1e-28).is_err() && calibrate(1e-27).is_ok());
    }

    #[test]
    fn threshold_and_cutoff() {
        let bound = L0Bound::new(100).unwrap();
        let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-5 };
        let policy = PolicyLaplace { alpha: 3.0, passes: 1, release: ReleaseStep::Noise };
        let calibration = policy.calibrate(privacy, bound).unwrap();
        let [round] = &calibration.rounds[..] else { panic!("one round") };
        let threshold = round.rule.noisy().unwrap().threshold.value();
        assert!((threshold - 15.43).abs() < 0.01, "{threshold}");
        let excess = round.weighting.cutoff() as f64 / UNIT as f64 - threshold;
        assert!((excess - 3.0).abs() < 1e-8);
    }

    #[test]
    fn users_have_a_quantum_for_every_pass() {
        let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-5 };
        for (passes, items) in [(1, 1), (3, 1), (3, 100), (100, 1), (100, 100)] {
            let policy = PolicyLaplace { alpha: 1.0, passes, release: ReleaseStep::Curve };
            let calibration = policy.calibrate(privacy, L0Bound::new(items).unwrap()).unwrap();
            let quantum = calibration.rounds[0].rule.quantum();
            assert!(UNIT / quantum / u64::from(passes) >= 1, "{passes} passes, quantum {quantum}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for (alpha, passes) in [(-1.0, 1), (f64::NAN, 1), (f64::INFINITY, 1), (3.0, 0), (3.0, 101)] {
            let refused = PolicyLaplace { alpha, passes, release: ReleaseStep::Noise }.validate();
            assert!(matches!(refused, Err(dpsel_exact::Error::InvalidParameter { .. })));
        }
    }
}
