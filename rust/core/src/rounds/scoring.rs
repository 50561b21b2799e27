//! Scoring: noisy weights of several rounds added up, and what is done with the sum.

use serde::{Deserialize, Serialize};

use crate::noise::{Noise, Threshold};
use crate::threshold::calibration::noise_tail;
use crate::weighting::UNIT;

/// The shares of all rounds add up to this.
pub const SHARES: u32 = 1 << 20;

/// A round that adds its share of each item's noisy weight to the evidence for the item.
///
/// Everything in it but `publish` only steers: it decides how users spread their weight in the next round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// How much of the noisy weight is added, in parts of [`SHARES`].
    pub share: u32,
    /// The noise added to each item's weight.
    pub noise: Noise,
    /// Items with less evidence (integer units) are given up.
    pub abandon: i64,
    /// Items with this much evidence have all the weight they need; below it they have less (integer units).
    pub course: i64,
    /// Users give an item as little as they may for its evidence to end here (integer units).
    pub aim: i64,
    /// In the last round: what is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
}

/// Released iff evidence >= threshold.
///
/// # Contract
/// A user of at most `items` items never gives one of them more than `weight`, and with that some item of this user
/// alone is released with a probability within the delta of the calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publish {
    /// What the evidence has to reach.
    pub threshold: Threshold,
    /// The law of all the noise in the evidence, with a standard deviation rounded up.
    pub evidence_noise: Noise,
    /// Rising in `items`, falling in `weight`; the last is for `max_items_per_user`.
    pub caps: Vec<Cap>,
}

/// The most that a user may give to one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// For users of at most so many items.
    pub items: u32,
    /// In integer units.
    pub weight: u64,
}

impl Publish {
    /// The cap of a user of so many items; none may be given away where the table ends.
    pub(crate) fn cap(&self, items: usize) -> u64 {
        let at = self.caps.partition_point(|cap| (cap.items as usize) < items);
        self.caps.get(at).map_or(0, |cap| cap.weight.min(UNIT))
    }
}

impl Scoring {
    /// The probability that an item that has this weight in every round is released, in plain arithmetic.
    pub(super) fn keep_probability(&self, weight: i128) -> f64 {
        self.publish.as_ref().map_or(0.0, |publish| {
            noise_tail(publish.evidence_noise, i128::from(publish.threshold.units()) - weight).middle()
        })
    }

    /// How this round differs from the one that is called for, one phrase per parameter.
    pub(super) fn differences(&self, want: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |name: &str, got: String, want: String| {
            if got != want {
                found.push(format!("{name} {got} instead of {want}"));
            }
        };
        compare("share", self.share.to_string(), want.share.to_string());
        compare("noise", format!("{:?}", self.noise), format!("{:?}", want.noise));
        compare(
            "steering",
            format!("{:?}", (self.abandon, self.course, self.aim)),
            format!("{:?}", (want.abandon, want.course, want.aim)),
        );
        let threshold =
            |round: &Self| format!("{:?}", round.publish.as_ref().map(|publish| publish.threshold.units()));
        compare("threshold", threshold(self), threshold(want));
        let caps = |round: &Self| {
            round.publish.as_ref().map(|publish| (publish.evidence_noise, publish.caps.clone()))
        };
        compare("caps", format!("{:?}", caps(self)), format!("{:?}", caps(want)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_cap_of_the_next_larger_size() {
        let caps = [(1, UNIT), (10, 700), (100, 300)].map(|(items, weight)| Cap { items, weight });
        let noise = Noise::Gaussian { sigma: 1.0 };
        let publish =
            Publish { threshold: Threshold::from_units(5), evidence_noise: noise, caps: caps.to_vec() };
        let found = [0, 1, 2, 10, 11, 100, 101].map(|items| publish.cap(items));
        assert_eq!(found, [UNIT, UNIT, 700, 700, 300, 300, 0]);
    }
}
