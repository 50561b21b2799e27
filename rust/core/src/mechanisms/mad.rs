//! `Mad`: weights that return what items have beyond a limit to the users who gave it; released by a continuous curve.
//!
//! Theorem: adding a user moves the weights by an L2 distance of at most 1 + 1e-4, so the continuous release curve for that
//! norm is (epsilon, delta)-DP for any number of items. Source: the idea is that of Chen, Cohen-Addad, Epasto and Zadimoghaddam
//! (ICML 2025); construction and proof are ours. Conditions: at most 2^32 users and items. Proof: `docs/algorithms/mad.md`.

use serde::{Deserialize, Serialize};

use super::policy::{curve_cutoff, validate};
use super::requirements::{ADD_OR_REMOVE, no_curve_zcdp, no_pure_dp};
use super::{Calibration, Guarantee, Mechanism, Round};
use crate::Result;
use crate::accounting::{L0Bound, Privacy};
use crate::threshold::Rule;
use crate::threshold::curve::l2_continuous_curve;
use crate::weighting::{self, Weighting};

/// The fewest and the most items that an adaptive user may have at most.
const ADAPTIVE: (u32, u32) = (7, 50);

/// Adaptive weights with a release curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mad {
    /// How far above even odds items stop to keep weight, in distances from there to odds of 27 : 5.
    pub alpha: f64,
}

impl Mad {
    pub(super) fn validate(self) -> Result<()> {
        validate(self.alpha, 1)
    }
}

impl Mechanism for Mad {
    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        let norm = weighting::Mad::NORM;
        let curve = match privacy.validate()? {
            Privacy::PureDp { .. } => return Err(no_pure_dp("Mad")),
            Privacy::Zcdp { .. } => return Err(no_curve_zcdp("Mad")),
            Privacy::ApproxDp { epsilon, delta } => l2_continuous_curve(epsilon, delta, norm)?,
        };
        let most = bound.get().clamp(ADAPTIVE.0, ADAPTIVE.1);
        let weighting = weighting::Mad { limit: curve_cutoff(curve, self.alpha)?, most, norm };
        Ok(Calibration {
            rounds: vec![Round { weighting: Weighting::Mad(weighting), rule: Rule::Curve(curve) }],
        })
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
}
