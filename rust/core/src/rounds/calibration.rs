//! The calibrated rounds of a mechanism, as numbers.

use serde::{Deserialize, Serialize};

use super::{Publish, Rule, Scoring};
use crate::weighting::{UNIT, Weighting};

/// The rounds of a calibrated mechanism. No data went into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// One entry per round, in order.
    pub rounds: Vec<Round>,
}

impl Calibration {
    /// The rounds and the publication, if all rounds gather evidence and the last one publishes.
    pub(crate) fn evidence(&self) -> Option<(Vec<&Scoring>, &Publish)> {
        let rounds = self.rounds.iter().map(|round| round.rule.evidence()).collect::<Option<Vec<_>>>()?;
        let publish = rounds.last()?.publish.as_ref()?;
        Some((rounds, publish))
    }

    /// How these numbers differ from the `expected` ones, one sentence per parameter.
    #[must_use]
    pub fn differences(&self, expected: &Self) -> Vec<String> {
        let (got, want) = (self.rounds.len(), expected.rounds.len());
        if got != want {
            return vec![format!("{got} rounds instead of {want}")];
        }
        let pairs = self.rounds.iter().zip(&expected.rounds).enumerate();
        pairs.flat_map(|(index, (got, want))| got.differences(want, index + 1)).collect()
    }
}

/// Noisy weights of a reactive weighting are published in steps of 2^-20 from the threshold on.
const STEP: u64 = UNIT >> 20;

/// One round: weigh, then release what the rule says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// How a user's items are weighed.
    pub weighting: Weighting,
    /// Which weights are released.
    #[serde(flatten)]
    pub rule: Rule,
}

impl Round {
    /// A noisy weight as it is published.
    ///
    /// The law of noise is exact up to 2^-128 for each value that is told apart. Where one user can move the weights of all
    /// items that has to stay small for all of them together, so fewer values are told apart.
    pub(crate) fn published(&self, noisy: i64) -> i64 {
        let Some(rule) = self.rule.noisy().filter(|_| self.weighting.is_reactive()) else { return noisy };
        // A step divides 2^64, so that what is beyond the last one comes out right where the difference wraps.
        let beyond = noisy.wrapping_sub(rule.threshold.units()).rem_euclid(STEP.cast_signed());
        noisy.saturating_sub(beyond)
    }

    /// How many values of the noise published weights tell apart, for each unit of weight.
    pub(crate) fn values_per_unit(&self) -> f64 {
        (if self.weighting.is_reactive() { UNIT / STEP } else { UNIT }) as f64
    }

    fn differences(&self, want: &Self, number: usize) -> Vec<String> {
        let mut found = Vec::new();
        if self.weighting != want.weighting {
            found.push(format!(
                "round {number}: weighting {:?} instead of {:?}",
                self.weighting, want.weighting
            ));
        }
        found.extend(
            self.rule.differences(&want.rule).into_iter().map(|what| format!("round {number}: {what}")),
        );
        found
    }
}
