//! The rule of a round, as it stands in reports.

use dpsel_exact::numeric::widths::clipped;
use serde::{Deserialize, Serialize};

use super::ranking::Ranking;
use super::scoring::Scoring;
use super::screening::Screening;
use crate::threshold::Noisy;
use crate::threshold::calibration::noise_tail;
use crate::threshold::curve::{Curve, CurveSpec};

/// The rule by which a round decides items from their weights. A new kind of round is a variant here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a round is not in the form of this version; check the report with the version that wrote it"
)]
pub enum Rule {
    /// A plain round with noise and a threshold.
    Noisy(Noisy),
    /// A plain round with a release curve, without noise.
    Curve(CurveSpec),
    /// A scored round.
    Scoring(Scoring),
    /// A screening round.
    Screening(Screening),
    /// A ranking round.
    Ranking(Ranking),
}

impl Rule {
    /// Noise and threshold of a plain round that has them.
    #[must_use]
    pub fn noisy(&self) -> Option<Noisy> {
        match self {
            Self::Noisy(noisy) => Some(*noisy),
            Self::Curve(_) | Self::Scoring(_) | Self::Screening(_) | Self::Ranking(_) => None,
        }
    }

    /// The release curve of a plain round that has one.
    #[must_use]
    pub fn curve(&self) -> Option<CurveSpec> {
        match self {
            Self::Curve(spec) => Some(*spec),
            Self::Noisy(_) | Self::Scoring(_) | Self::Screening(_) | Self::Ranking(_) => None,
        }
    }

    /// The parameters of a scored round.
    #[must_use]
    pub(crate) fn scoring(&self) -> Option<&Scoring> {
        match self {
            Self::Scoring(scoring) => Some(scoring),
            Self::Noisy(_) | Self::Curve(_) | Self::Screening(_) | Self::Ranking(_) => None,
        }
    }

    /// The parameters of a screening round.
    pub(crate) fn screening(&self) -> Option<&Screening> {
        match self {
            Self::Screening(screening) => Some(screening),
            Self::Noisy(_) | Self::Curve(_) | Self::Scoring(_) | Self::Ranking(_) => None,
        }
    }

    /// The noise of a ranking round.
    pub(crate) fn ranking(&self) -> Option<Ranking> {
        match self {
            Self::Ranking(ranking) => Some(*ranking),
            Self::Noisy(_) | Self::Curve(_) | Self::Scoring(_) | Self::Screening(_) => None,
        }
    }

    /// Contributions are rounded down to a multiple of this number of grid steps.
    #[must_use]
    pub fn quantum(&self) -> u64 {
        match self {
            Self::Curve(spec) => spec.contribution_quantum(),
            Self::Noisy(_) | Self::Scoring(_) | Self::Screening(_) | Self::Ranking(_) => 1,
        }
    }

    /// The probability that an item of `weight` grid steps is released, in plain arithmetic.
    #[must_use]
    pub fn keep_probability(&self, weight: i128) -> f64 {
        match self {
            Self::Noisy(Noisy { noise, threshold }) => {
                noise_tail(*noise, i128::from(threshold.steps()) - weight).middle()
            }
            Self::Curve(spec) => {
                // No weight is larger, and from the end of the table on all probabilities are the same.
                let weight = clipped(weight.max(0).unsigned_abs());
                Curve::of(spec.curve, spec.quantum).map_or(0.0, |curve| curve.probability(weight))
            }
            Self::Scoring(scoring) => scoring.keep_probability(weight),
            Self::Screening(_) | Self::Ranking(_) => 0.0,
        }
    }

    /// Whether the exchange can apply the rule, which decides each item from the item's own state alone.
    ///
    /// The importances of a screening round and the order of a ranking round belong to all users at once.
    #[must_use]
    pub fn is_item_by_item(&self) -> bool {
        match self {
            Self::Noisy(_) | Self::Curve(_) | Self::Scoring(_) => true,
            Self::Screening(_) | Self::Ranking(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rounds::Round;

    /// `Steered` and `Mad2R` reports of earlier versions have other names of the same numbers.
    #[test]
    fn rounds_in_an_earlier_form_are_refused_with_the_reason() {
        let read = |fields: &str| {
            let noise = r#""weighting": "equal_l2", "noise": {"kind": "gaussian", "sigma": 1.0}"#;
            serde_json::from_str::<Round>(&format!("{{{noise}, {fields}}}")).map_err(|e| e.to_string())
        };
        let steering = r#""futility_bound": 0, "expected_path": 1, "target": 2"#;
        let scored = format!(r#"{steering}, "settled_bound": 3, "share": 9"#);
        assert!(read(steering).unwrap().rule.screening().is_some());
        assert!(read(&scored).unwrap().rule.scoring().is_some());
        let earlier = r#""abandon": 0, "course": 1, "aim": 2"#;
        for fields in
            [earlier.to_owned(), format!(r#"{earlier}, "share": 9"#), format!(r#"{steering}, "share": 9"#)]
        {
            let refused = read(&fields).unwrap_err();
            assert!(refused.starts_with("a round is not in the form of this version"), "{refused}");
        }
    }
}
