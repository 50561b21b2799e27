//! The rule of a round: whether an item of a given weight is released.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::scoring::Scoring;
use super::screening::Screening;
use crate::Result;
use crate::noise::NoisyThreshold;
use crate::numeric::widths::clipped;
use crate::threshold::Noisy;
use crate::threshold::calibration::noise_tail;
use crate::threshold::curve::{Curve, CurveSpec};

/// How a round decides, as it stands in reports. A new kind of decision is a variant here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rule {
    /// Noise and a threshold.
    Noisy(Noisy),
    /// A release curve, without noise.
    Curve(CurveSpec),
    /// Scoring that steers.
    Scoring(Scoring),
    /// A look that steers the next round.
    Screening(Screening),
}

impl Rule {
    /// Noise and threshold, if that is how the round decides.
    #[must_use]
    pub fn noisy(&self) -> Option<Noisy> {
        match self {
            Self::Noisy(noisy) => Some(*noisy),
            Self::Curve(_) | Self::Scoring(_) | Self::Screening(_) => None,
        }
    }

    /// The release curve, if that is how the round decides.
    #[must_use]
    pub fn curve(&self) -> Option<CurveSpec> {
        match self {
            Self::Curve(spec) => Some(*spec),
            Self::Noisy(_) | Self::Scoring(_) | Self::Screening(_) => None,
        }
    }

    /// Contributions are rounded down to a multiple of so many integer units.
    #[must_use]
    pub fn quantum(&self) -> u64 {
        self.curve().map_or(1, |spec| spec.contribution_quantum())
    }

    /// The evidence that the round gathers, if that is what it does.
    pub(crate) fn evidence(&self) -> Option<&Scoring> {
        match self {
            Self::Scoring(evidence) => Some(evidence),
            Self::Noisy(_) | Self::Curve(_) | Self::Screening(_) => None,
        }
    }

    /// The look, if that is what the round is for.
    pub(super) fn look(&self) -> Option<&Screening> {
        match self {
            Self::Screening(look) => Some(look),
            Self::Noisy(_) | Self::Curve(_) | Self::Scoring(_) => None,
        }
    }

    /// The probability that an item of so many integer units is released, in plain arithmetic.
    #[must_use]
    pub fn keep_probability(&self, weight: i128) -> f64 {
        match self {
            Self::Noisy(Noisy { noise, threshold }) => {
                noise_tail(*noise, i128::from(threshold.units()) - weight).middle()
            }
            Self::Curve(spec) => {
                // No weight is larger, and from the end of the table on all probabilities are the same.
                let weight = clipped(weight.max(0).unsigned_abs());
                Curve::of(spec.curve, spec.quantum).map_or(0.0, |curve| curve.probability(weight))
            }
            Self::Scoring(evidence) => evidence.keep_probability(weight),
            Self::Screening(_) => 0.0,
        }
    }

    /// Whether a cluster can apply the rule: item by item, to evidence as well. What a look finds belongs to all users at once.
    pub(crate) fn is_item_by_item(&self) -> bool {
        match self {
            Self::Noisy(_) | Self::Curve(_) | Self::Scoring(_) => true,
            Self::Screening(_) => false,
        }
    }

    /// How this rule differs from the one that is called for, one phrase per parameter.
    pub(crate) fn differences(&self, want: &Self) -> Vec<String> {
        let (got, want) = match (self, want) {
            (Self::Noisy(got), Self::Noisy(want)) => (got, want),
            (Self::Scoring(got), Self::Scoring(want)) => return got.differences(want),
            (Self::Screening(got), Self::Screening(want)) => return got.differences(want),
            _ if self == want => return Vec::new(),
            _ => return vec![format!("{self:?} instead of {want:?}")],
        };
        let mut found = Vec::new();
        if got.noise != want.noise {
            found.push(format!("noise {:?} instead of {:?}", got.noise, want.noise));
        }
        if got.threshold != want.threshold {
            let (got, want) = (got.threshold.units(), want.threshold.units());
            found.push(format!("threshold {got} units instead of {want}"));
        }
        found
    }

    /// Make ready to decide.
    ///
    /// # Errors
    /// As [`Curve::of`].
    pub(crate) fn decider(&self) -> Result<Decider> {
        Ok(match self {
            Self::Noisy(Noisy { noise, threshold }) => {
                Decider::Noisy(Box::new(NoisyThreshold::new(*noise, *threshold)))
            }
            Self::Curve(spec) => Decider::Curve(Curve::of(spec.curve, spec.quantum)?),
            Self::Scoring(_) | Self::Screening(_) => Decider::Nothing,
        })
    }
}

/// A rule with the tables it needs.
#[derive(Debug)]
pub(crate) enum Decider {
    Noisy(Box<NoisyThreshold>),
    Curve(Arc<Curve>),
    /// Releases nothing: evidence and looks are not decided item by item in a round of their own.
    Nothing,
}

impl Decider {
    /// Whether an item of this weight is released, given its pseudorandom word.
    #[inline]
    pub(crate) fn releases(&self, weight: u64, word: u128) -> bool {
        match self {
            Self::Noisy(decision) => decision.releases(weight, word),
            Self::Curve(curve) => curve.releases(weight, word),
            Self::Nothing => false,
        }
    }

    /// The noisy weight of a released item, in integer units; 0 where there is no noise.
    pub(crate) fn noisy_weight(&self, weight: u64, word: u128) -> i64 {
        match self {
            Self::Noisy(decision) => decision.noisy_weight(weight, word),
            Self::Curve(_) | Self::Nothing => 0,
        }
    }
}
