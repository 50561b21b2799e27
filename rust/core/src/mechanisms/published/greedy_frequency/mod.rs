//! `GreedyFrequency` (GW): users in order fill their items one by one up to a cutoff, until their unit is spent.
//!
//! Theorem: adding a user raises every weight or leaves it, and raises their sum by at most one unit; so releasing
//! items by an L1 release curve is (epsilon, delta)-DP, for users of any number of items. Source: Carvalho, Wang and
//! Gondara (AAAI 2022) for the filling, whose calibration guarantees nothing; the curve is ours. Proof, and the
//! counterexample to the published calibration: `docs/algorithms/greedy_frequency.md`.

use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_exact::noise::{Noise, Threshold};
use dpsel_exact::numeric::{Interval, div_up, mul_up};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::ItemOrder;
use serde::{Deserialize, Serialize};

use crate::counting::NumbersAsked;
use crate::mechanisms::budget_split::apart;
use crate::mechanisms::shared::policy::{cutoff, validate as validate_policy};
use crate::mechanisms::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, no_zcdp_without_noise};
use crate::mechanisms::{Mechanism, NoisyWeights, Properties};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::Noisy;
use crate::threshold::curve::{l1_curve, worthwhile_weight};
use dpsel_exact::numeric::UNIT;

use crate::weighting::{Greedy, Weighting};

/// The weights are multiples of this: the cutoff is chosen as finely, all else are whole units.
const QUANTUM: u64 = UNIT / 16;
/// `alpha` of the published calibration if none is given.
const PUBLISHED_ALPHA: f64 = 3.0;

/// The warning in a report of the published calibration.
const PUBLISHED_FLAW: &str =
    "no guarantee: the published calibration of GreedyFrequency is for reproducing the paper only";

/// Thresholds stay below this, so that they fit an `i64`.
const LARGEST_THRESHOLD: f64 = (1_u64 << 61) as f64;

/// Fillings up to a cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GreedyFrequency {
    /// The order in which a user fills its items.
    #[serde(default)]
    pub order: ItemOrder,
    /// How the release is calibrated.
    #[serde(default)]
    pub calibration: GreedyCalibration,
    /// The distance of the cutoff above the threshold, in scales of the noise. Only for the published calibration.
    #[serde(default)]
    pub alpha: Option<f64>,
}

/// How items are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GreedyCalibration {
    /// By the L1 release curve, with a proof.
    #[default]
    Curve,
    /// By Laplace noise and the threshold of the paper, which guarantee nothing.
    Published,
}

impl GreedyFrequency {
    fn by_curve(epsilon: f64, delta: f64) -> Result<Round> {
        let curve = l1_curve(epsilon, delta, QUANTUM)?;
        let weighting = Weighting::Greedy(Greedy { cutoff: worthwhile_weight(&curve)? });
        Ok(Round { weighting, rule: Rule::Curve(curve) })
    }

    /// Threshold 1 - ln(2 delta) / epsilon. The curve could be called tighter or looser; this is simply wrong.
    fn as_published(&self, epsilon: f64, delta: f64) -> Result<Round> {
        let noise = Noise::Laplace { scale: div_up(1.0, epsilon) };
        let excess = -(Interval::point(delta) + Interval::point(delta)).ln() / Interval::point(epsilon);
        let units = mul_up((Interval::ONE + excess).hi(), UNIT as f64).max(0.0);
        if units >= LARGEST_THRESHOLD {
            return Err(too_large());
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 2^61")]
        let threshold = Threshold::from_steps(units.ceil() as i64);
        // Otherwise: the default, as documented.
        let cutoff = cutoff(threshold, noise, self.alpha.unwrap_or(PUBLISHED_ALPHA))?;
        Ok(Round {
            weighting: Weighting::Greedy(Greedy { cutoff }),
            rule: Rule::Noisy(Noisy { noise, threshold }),
        })
    }
}

fn too_large() -> Error {
    Error::Calibration {
        what: "a threshold below 2^31 units of weight".into(),
        fix: "raise epsilon or delta",
    }
}

impl Mechanism for GreedyFrequency {
    fn validate(&self) -> Result<()> {
        match (self.calibration, self.alpha) {
            (GreedyCalibration::Curve, Some(_)) => Err(Error::Incompatible {
                what: "alpha belongs to calibration=\"published\"; a release curve has a cutoff of its own"
                    .into(),
                fix: "leave alpha out",
            }),
            // Otherwise: the default, as documented.
            (_, alpha) => validate_policy(alpha.unwrap_or(PUBLISHED_ALPHA), 1),
        }
    }

    fn calibrate(&self, privacy: Privacy, _bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        match privacy.validate()? {
            Privacy::PureDp { .. } => Err(no_pure_dp("GreedyFrequency")),
            Privacy::Zcdp { .. } => Err(no_zcdp_without_noise("GreedyFrequency")),
            Privacy::ApproxDp { epsilon, delta } => {
                let round = match self.calibration {
                    GreedyCalibration::Curve => Self::by_curve(epsilon, delta)?,
                    GreedyCalibration::Published => self.as_published(epsilon, delta)?,
                };
                Ok(Calibration::of(vec![round]))
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
        match self.calibration {
            GreedyCalibration::Curve => Guarantee {
                statement: "(epsilon, delta)-DP for users of any number of items: adding a user raises the weights by at most one \
                            unit in all, and the release curve pays for each change in proportion",
                neighbours: ADD_OR_REMOVE,
                source: "the filling of Carvalho, Wang and Gondara 2022; the proof is complete on its page",
                proof: "docs/algorithms/greedy_frequency.md",
            },
            GreedyCalibration::Published => Guarantee {
                statement: "no guarantee: the published threshold allows for one new item, but many can appear at once; for \
                            reproducing the paper only",
                neighbours: ADD_OR_REMOVE,
                source: "Carvalho, Wang and Gondara 2022, whose privacy proof has a gap",
                proof: "docs/algorithms/greedy_frequency.md",
            },
        }
    }

    fn properties(&self) -> Properties {
        let (noisy_weights, flaw) = match self.calibration {
            GreedyCalibration::Curve => (NoisyWeights::Absent, None),
            GreedyCalibration::Published => (NoisyWeights::OfRound, Some(PUBLISHED_FLAW)),
        };
        Properties { noisy_weights, item_order: Some(self.order), reach: 1, looks: false, flaw }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(mechanism: GreedyFrequency, epsilon: f64, delta: f64) -> Round {
        let bound = L0Bound::new(1000).unwrap();
        let calibration = mechanism.calibrate(Privacy::ApproxDp { epsilon, delta }, bound).unwrap();
        calibration.rounds.into_iter().next().unwrap()
    }

    #[test]
    fn gifts_are_multiples_of_the_quantum() {
        for (epsilon, delta) in [(0.1, 1e-9), (1.7, 8.1142e-5), (50.0, 0.1)] {
            let round = round(GreedyFrequency::default(), epsilon, delta);
            let (quantum, cutoff) = (round.rule.quantum(), round.weighting.cutoff());
            assert!(UNIT.is_multiple_of(quantum) && cutoff.is_multiple_of(quantum) && cutoff >= UNIT);
        }
    }

    #[test]
    fn the_published_threshold() {
        let published =
            GreedyFrequency { calibration: GreedyCalibration::Published, ..GreedyFrequency::default() };
        let round = round(published, 1.7, 8.1142e-5);
        let threshold = round.rule.noisy().unwrap().threshold.value();
        assert!((threshold - 6.1326).abs() < 1e-3, "{threshold}");
        assert!((round.weighting.cutoff() as f64 / UNIT as f64 - threshold - 3.0 / 1.7).abs() < 1e-6);
        assert!(published.guarantee().statement.starts_with("no guarantee"));
    }

    #[test]
    fn alpha_belongs_to_the_published_calibration() {
        let curve = GreedyFrequency { alpha: Some(3.0), ..GreedyFrequency::default() };
        assert!(matches!(curve.validate(), Err(Error::Incompatible { .. })));
        let published = GreedyFrequency { calibration: GreedyCalibration::Published, ..curve };
        assert!(published.validate().is_ok());
        let negative = GreedyFrequency { alpha: Some(-1.0), ..published };
        assert!(matches!(negative.validate(), Err(Error::InvalidParameter { .. })));
    }
}
