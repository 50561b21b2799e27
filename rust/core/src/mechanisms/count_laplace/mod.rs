//! `CountLaplace`: the number of users of an item plus Laplace noise, released from a threshold on.
//!
//! Theorem: for users of at most D0 items, Laplace noise of scale D0/epsilon on counts and a threshold that some novel
//! item reaches with probability at most delta satisfy (epsilon, delta)-DP.
//! Source: Korolova, Kenthapadi, Mishra and Ntoulas (WWW 2009); Gopi et al. (ICML 2020), section 3.
//! Conditions: each user counts once per item and for at most D0 items. Proof: `docs/algorithms/count_laplace.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy, without_decision_slack};
use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::div_up;
use serde::{Deserialize, Serialize};

use super::budget_split::apart;
use super::shared::requirements::{ADD_OR_REMOVE, no_laplace_zcdp, no_pure_dp};
use super::{Mechanism, NoisyWeights, Properties};
use crate::counting::NumbersAsked;
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::Noisy;
use crate::threshold::calibration::smallest_threshold;
use crate::weighting::Weighting;

/// Counts of users with Laplace noise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountLaplace {}

impl Mechanism for CountLaplace {
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        match without_decision_slack(privacy.validate()?, bound.get().into())? {
            Privacy::PureDp { .. } => Err(no_pure_dp("CountLaplace")),
            Privacy::Zcdp { .. } => Err(no_laplace_zcdp("CountLaplace")),
            Privacy::ApproxDp { epsilon, delta } => {
                // One user changes D0 counts by 1 each: L1 sensitivity D0.
                let noise = Noise::Laplace { scale: div_up(f64::from(bound.get()), epsilon) };
                let weighting = Weighting::Count;
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
        Guarantee {
            statement: "(epsilon, delta)-DP: Laplace noise of scale D0/epsilon hides the counts of items that others \
                        hold, and an item that nobody else holds is released with probability at most delta in all",
            neighbours: ADD_OR_REMOVE,
            source: "Korolova et al. 2009; Gopi et al. 2020",
            proof: "docs/algorithms/count_laplace.md",
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
