//! `Mad2R`: a screening round with noise on all weights, then `Mad` on the remaining items; released by a continuous
//! curve.
//!
//! Theorem: the screening round is a Gaussian mechanism. Given its outcome, adding a user moves the weights of the
//! second round by an L2 distance of at most 1 + 1e-4, for every outcome. Each round has a bounded Renyi divergence of
//! one order, and divergences add. So the mechanism is (epsilon, delta)-DP for any number of items. Source: the idea is
//! from Chen, Cohen-Addad, Epasto and Zadimoghaddam (ICML 2025); construction and proof are ours. Conditions: at most
//! 2^32 users and items. Proof: `docs/algorithms/mad2r.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_exact::numeric::widths::clipped;
use dpsel_exact::numeric::{Interval, add_up};
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::apart;
use crate::mechanisms::shared::requirements::{
    ADD_OR_REMOVE, no_curve_zcdp, no_pure_dp, value_slack, with_reserve,
};
use crate::mechanisms::{Mad, Mechanism, NoisyWeights, Properties};
use crate::rounds::{Calibration, Round, Rule, Screening};
use crate::threshold::calibration::gaussian_noise;
use crate::threshold::curve::screening_and_curve;
use dpsel_exact::numeric::UNIT;

use crate::weighting::{self, Weighting};

/// The part of the divergence that the screening round takes.
const SCREENING: f64 = 0.2;
/// The expected path, in standard deviations of the noise of the screening round; the futility bound is 0.
const EXPECTED_PATH: f64 = 0.5;

/// A screening round, then adaptive weights with a release curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mad2R {
    /// [`Mad::alpha`] of the second round.
    pub alpha: f64,
}

impl Mad2R {
    fn second(self) -> Mad {
        Mad { alpha: self.alpha }
    }
}

/// The screening round. No guarantee depends on its futility bound, expected path and target.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn screening(sigma: f64, half: u64, bound: L0Bound) -> Result<Screening> {
    let expected_path = (EXPECTED_PATH * sigma * UNIT as f64).round() as i64;
    // No weight is larger, and no guarantee depends on the target.
    let target = clipped(half);
    let noise = gaussian_noise(Weighting::EqualL2, bound, sigma)?;
    Ok(Screening { noise, futility_bound: 0, expected_path, target })
}

impl Mechanism for Mad2R {
    fn validate(&self) -> Result<()> {
        self.second().validate()
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        let (epsilon, delta) = match privacy.validate()? {
            Privacy::PureDp { .. } => return Err(no_pure_dp("Mad2R")),
            Privacy::Zcdp { .. } => return Err(no_curve_zcdp("Mad2R")),
            Privacy::ApproxDp { epsilon, delta } => (epsilon, delta),
        };
        let factor = add_up(1.0, Interval::point(epsilon).exp().hi());
        let (sigma, curve) = with_reserve(delta, factor, |left| {
            let (sigma, curve) = screening_and_curve(epsilon, left, SCREENING, weighting::MadWeights::NORM)?;
            Ok(((sigma, curve), value_slack(sigma, bound)))
        })?;
        let rule = Rule::Screening(screening(sigma, curve.half, bound)?);
        let first = Round { weighting: Weighting::EqualL2, rule };
        let second = Round { weighting: self.second().weighting(curve, bound)?, rule: Rule::Curve(curve) };
        Ok(Calibration::of(vec![first, second]))
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
            statement: "(epsilon, delta)-DP: a Gaussian screening round and a continuous release curve for weights that follow it are \
                        close at one order of the Renyi divergence, their divergences add, and the sum is converted; for any number of \
                        items",
            neighbours: ADD_OR_REMOVE,
            source: "after Chen, Cohen-Addad, Epasto and Zadimoghaddam 2025; the proof is complete on its page",
            proof: "docs/algorithms/mad2r.md",
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
