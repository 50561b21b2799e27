//! Scored rounds: noisy weights of several rounds add up to a cumulative score for each item.

use serde::{Deserialize, Serialize};

use super::importance::{by_prospect, by_remaining, smaller_of};
use crate::noise::{Noise, Threshold};
use crate::numeric::UNIT;
use crate::threshold::calibration::noise_tail;

/// The shares of all rounds add up to this.
pub const SHARES: u32 = 1 << 20;

/// A round that adds its share of each item's noisy weight to the item's cumulative score.
///
/// All fields but `noise` and `publish` only steer: they decide how users spread their weight in the next round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// The share of the noisy weight that is added to the score, in parts of [`SHARES`].
    pub share: u32,
    /// The noise added to each item's weight.
    pub noise: Noise,
    /// Items with a smaller score (in grid steps) are abandoned.
    pub futility_bound: i64,
    /// Above this score (in grid steps) an item's chances do not limit its importance, only the remaining distance to
    /// the target does.
    pub expected_path: i64,
    /// The final score (in grid steps) to which users bring an item, with as little weight as possible.
    pub target: i64,
    /// In the last round: which items are released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
}

/// An item is released iff score >= threshold.
///
/// # Contract
/// A user of at most `items` items never gives one of them more than `weight`. With these weights some item that only
/// this user holds is released with a probability within the delta of the calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publish {
    /// The least score of a released item.
    pub threshold: Threshold,
    /// The law of the sum of all noise in a score, with a standard deviation rounded up.
    pub score_noise: Noise,
    /// Rising in `items`, falling in `weight`; the last is for `max_items_per_user`.
    pub caps: Vec<Cap>,
}

/// The most weight that a user may give to one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// The cap is for users of at most this number of items.
    pub items: u32,
    /// In grid steps.
    pub weight: u64,
}

impl Publish {
    /// The cap of a user of `items` items; 0 beyond the table.
    pub(crate) fn cap(&self, items: usize) -> u64 {
        let at = self.caps.partition_point(|cap| (cap.items as usize) < items);
        self.caps.get(at).map_or(0, |cap| cap.weight.min(UNIT))
    }
}

impl Scoring {
    /// The importance of an item in the next round: 0 if the item is abandoned, otherwise at least 1.
    ///
    /// `exposure` is the sum of share times importance over the rounds so far, `left` the sum of the later shares.
    pub(super) fn importance(&self, score: i64, exposure: u32, left: u32) -> u16 {
        if score < self.futility_bound {
            return 0;
        }
        smaller_of(
            by_prospect(self.futility_bound, self.expected_path, score),
            by_remaining(self.target, score, exposure, left),
        )
    }

    /// The probability that an item of this weight in every round is released, in plain arithmetic.
    pub(super) fn keep_probability(&self, weight: i128) -> f64 {
        self.publish.as_ref().map_or(0.0, |publish| {
            noise_tail(publish.score_noise, i128::from(publish.threshold.steps()) - weight).middle()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::weighting::FULL_IMPORTANCE;

    const ONE: i64 = UNIT.cast_signed();

    fn round(futility_bound: i64, expected_path: i64, target: i64) -> Scoring {
        let noise = Noise::Gaussian { sigma: 1.0 };
        Scoring { share: SHARES / 4, noise, futility_bound, expected_path, target, publish: None }
    }

    #[test]
    fn prospects_count_by_their_square() {
        let round = round(-ONE, 3 * ONE, i64::MAX);
        let found =
            [-2, -1, 0, 1, 2, 3, 9].map(|at| round.importance(at * ONE, SHARES * 256 / 2, SHARES / 2));
        assert_eq!(found, [0, 1, 16, 64, 144, 256, 256]);
    }

    #[test]
    fn what_remains_counts_by_its_power_of_three_halves() {
        // Half of the budget brought a score of 4; the other half brings 5 at full importance.
        let at = |target: i64| round(0, 1, target).importance(4 * ONE, SHARES / 2 * 256, SHARES / 2);
        let found = [0, 4, 5, 6, 8, 9, 20].map(|target| at(target * ONE));
        assert_eq!(found, [1, 1, 22, 64, 183, 256, 256]);
    }

    proptest! {
        #[test]
        fn any_state_has_an_importance(
            score: i64, limits: [i64; 3], exposure in 0_u32..=SHARES * 256, left in 0..=SHARES,
        ) {
            let round = round(limits[0], limits[1], limits[2]);
            let found = round.importance(score, exposure, left);
            prop_assert!(found <= FULL_IMPORTANCE);
            prop_assert_eq!(found == 0, score < round.futility_bound);
        }
    }

    #[test]
    fn a_user_has_the_cap_of_the_next_larger_size() {
        let caps = [(1, UNIT), (10, 700), (100, 300)].map(|(items, weight)| Cap { items, weight });
        let score_noise = Noise::Gaussian { sigma: 1.0 };
        let publish = Publish { threshold: Threshold::from_steps(5), score_noise, caps: caps.to_vec() };
        let found = [0, 1, 2, 10, 11, 100, 101].map(|items| publish.cap(items));
        assert_eq!(found, [UNIT, UNIT, 700, 700, 300, 300, 0]);
    }
}
