//! The calibrated rounds of a mechanism, as numbers.

use dpsel_exact::numeric::UNIT;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Publish, Rule, Scoring};
use crate::counting::{CountNoise, NumberNoise, RestNoise};
use crate::weighting::Weighting;

/// The rounds of a calibrated mechanism. It does not depend on data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// One entry per round, in order.
    pub rounds: Vec<Round>,
    /// The noise of the counts of users, if they are published with the items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CountNoise>,
    /// The noise of the numbers of what the list covers, if they are published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestNoise>,
    /// Whether the importance of an item is limited by the prospects of those that stand above it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descent: bool,
}

impl Calibration {
    /// Rounds whose items are published without numbers.
    #[must_use]
    pub fn of(rounds: Vec<Round>) -> Self {
        Self { rounds, counts: None, rest: None, descent: false }
    }

    /// These rounds, and numbers with this noise.
    #[must_use]
    pub fn with_numbers(self, NumberNoise { counts, rest }: NumberNoise) -> Self {
        Self { counts, rest, ..self }
    }

    /// The noise of all numbers that are published beside the items.
    #[must_use]
    pub fn numbers(&self) -> NumberNoise {
        NumberNoise { counts: self.counts, rest: self.rest }
    }

    /// The rounds and the publication, if all rounds are scored and the last one publishes.
    #[must_use]
    pub fn scoring(&self) -> Option<(Vec<&Scoring>, &Publish)> {
        let rounds = self.rounds.iter().map(|round| round.rule.scoring()).collect::<Option<Vec<_>>>()?;
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
        let mut found: Vec<String> =
            pairs.flat_map(|(index, (got, want))| got.differences(want, index + 1)).collect();
        if self.counts != expected.counts {
            found.push("the noise of the counts is not what the request calls for".into());
        }
        if self.rest != expected.rest {
            found.push("the noise of the rest is not what the request calls for".into());
        }
        if self.descent != expected.descent {
            found.push("descent is not what the request calls for".into());
        }
        found
    }
}

/// Add how one value differs from another: one phrase for each field, and one for a list.
fn differences_of(path: &str, got: &Value, want: &Value, found: &mut Vec<String>) {
    match (got, want) {
        _ if got == want => {}
        (Value::Object(got), Value::Object(want)) => {
            let inside = if path.ends_with(' ') { path.to_owned() } else { format!("{path}.") };
            for name in want.keys().chain(got.keys().filter(|name| !want.contains_key(*name))) {
                // Otherwise: the field is missing, which JSON writes as null.
                let value = |of: &Map<String, Value>| of.get(name).cloned().unwrap_or_default();
                differences_of(&format!("{inside}{name}"), &value(got), &value(want), found);
            }
        }
        (Value::Array(_), _) | (_, Value::Array(_)) => {
            found.push(format!("{path} is not what the request calls for"));
        }
        _ => found.push(format!("{path} {got} instead of {want}")),
    }
}

/// Noisy weights of a reactive weighting are published in steps of 2^-20 of a unit from the threshold on.
const STEP: u64 = UNIT >> 20;

/// One round: a weighting and a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// How users spread their weight over their items.
    pub weighting: Weighting,
    /// The rule by which the round decides items from their weights.
    #[serde(flatten)]
    pub rule: Rule,
}

impl Round {
    /// The distance of neighbouring published weights, in grid steps.
    ///
    /// The law of noise is exact up to 2^-128 for each value that is told apart. Where one user can move the weights of
    /// all items, that has to stay small for all of them together. There fewer values are told apart.
    pub(crate) fn published_step(&self) -> u64 {
        if self.weighting.is_reactive() { STEP } else { 1 }
    }

    /// The number of noise values that published weights distinguish, for each unit of weight.
    pub(crate) fn values_per_unit(&self) -> f64 {
        (UNIT / self.published_step()) as f64
    }

    /// How this round differs from the one that the request implies, with the names and numbers of the report.
    fn differences(&self, want: &Self, number: usize) -> Vec<String> {
        if self == want {
            return Vec::new();
        }
        let round = format!("round {number}: ");
        let mut found = Vec::new();
        if let (Ok(got), Ok(want)) = (serde_json::to_value(self), serde_json::to_value(want)) {
            differences_of(&round, &got, &want, &mut found);
        }
        if found.is_empty() {
            found.push(format!("{round}not what the request calls for"));
        }
        found
    }
}
