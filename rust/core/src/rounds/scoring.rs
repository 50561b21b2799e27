//! Scored rounds: noisy weights of several rounds add up to a cumulative score for each item.
//!
//! A score is the sum of all weights that users gave to the item and of all noise, in integers without rounding. The
//! share of a round is in the norm of its weights and in its noise.

use dpsel_exact::noise::{Noise, Threshold};
use dpsel_exact::numeric::Interval;
use dpsel_exact::numeric::widths::clipped;
use serde::{Deserialize, Serialize};

use super::importance::{importance, of_line};
use crate::threshold::calibration::noise_tail;
use crate::weighting::{Allowance, Allowances};

/// A round that adds each item's noisy weight to the item's cumulative score.
///
/// The guarantee depends on `share`, which is in the norm of a user's weights, on `noise` and on `publish`. The other
/// fields only steer: they decide how users spread their weight in the next round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// The norm of a user's weights in this round is this share of its norm, in parts of
    /// [`SHARES`](crate::weighting::SHARES).
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
    /// Items with at least this score (in grid steps) get no more weight. They keep getting noise, and the last round
    /// decides them like all others.
    pub settled_bound: i64,
    /// In the last round: which items are released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
}

/// An item is released iff score >= threshold and the noise check holds.
///
/// # Contract
/// With the norms and caps of `sizes`, what a user can change is within the guarantee of the calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publish {
    /// The least score of a released item.
    pub threshold: Threshold,
    /// The law of the sum of all noise in a score, with a standard deviation rounded up.
    pub score_noise: Noise,
    /// The second condition of a release.
    pub noise_check: NoiseCheck,
    /// Rising in `items`; the last is for `max_items_per_user`.
    pub sizes: Vec<UserSize>,
}

/// A condition on the noise of a released item's score.
///
/// With it the release of an item depends on one user only where the noise lies between the threshold and the threshold
/// less the user's cap, whether or not others hold the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseCheck {
    /// The sum of all noise in the score is below the threshold.
    BelowThreshold,
    /// There is no such condition.
    Absent,
}

/// What a user of some number of items may give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSize {
    /// For users of at most this number of items.
    pub items: u32,
    /// The L2 norm of the weights of a round is at most the round's share of this, in grid steps.
    pub norm: u64,
    /// One item gets at most this over all rounds, in grid steps.
    pub cap: u64,
}

impl Publish {
    /// The allowances of users by their number of items.
    #[must_use]
    pub fn allowances(&self) -> Allowances {
        let allowance = |size: &UserSize| (size.items, Allowance::new(size.norm, size.cap));
        Allowances::new(self.sizes.iter().map(allowance).collect())
    }

    /// What a user of `items` items gives to each of them over all rounds if all have the same importance; 0 beyond the
    /// table.
    pub(crate) fn equal_weight(&self, items: u32) -> u64 {
        let at = self.sizes.partition_point(|size| size.items < items);
        self.sizes.get(at).map_or(0, |size| {
            let norm = u128::from(size.norm);
            size.cap.min(clipped((norm * norm / u128::from(items.max(1))).isqrt()))
        })
    }

    /// Whether an item of this score is released, `noise` being the sum of all noise in the score.
    pub(super) fn releases(&self, score: i64, noise: i64) -> bool {
        let threshold = self.threshold.steps();
        let is_checked = match self.noise_check {
            NoiseCheck::BelowThreshold => noise < threshold,
            NoiseCheck::Absent => true,
        };
        score >= threshold && is_checked
    }

    /// The probability that an item of this weight over all rounds is released, in plain arithmetic.
    fn keep_probability(&self, weight: i128) -> f64 {
        let threshold = i128::from(self.threshold.steps());
        let reached = noise_tail(self.score_noise, threshold - weight);
        let turned_away = match self.noise_check {
            NoiseCheck::BelowThreshold => noise_tail(self.score_noise, threshold),
            NoiseCheck::Absent => Interval::ZERO,
        };
        (reached - turned_away).middle().max(0.0)
    }
}

impl Scoring {
    /// The importance of an item in the next round: 0 if it is settled, `None` if it is abandoned.
    ///
    /// `exposure` is the sum of share times importance over the rounds so far, `left` the sum of the later shares.
    #[inline]
    pub(super) fn importance(&self, score: i64, exposure: u32, left: u32) -> Option<u16> {
        if score < self.futility_bound {
            return None;
        }
        if score >= self.settled_bound {
            return Some(0);
        }
        let bounds = (self.futility_bound, self.expected_path, self.target);
        Some(importance(bounds, score, (exposure, left)))
    }

    /// The importance that an item of this score, which is neither abandoned nor settled, allows the items below it.
    #[inline]
    pub(super) fn allowed_below(&self, score: i64) -> u16 {
        of_line(self.futility_bound, self.expected_path, score)
    }

    /// The probability that an item of this weight over all rounds is released, in plain arithmetic.
    pub(super) fn keep_probability(&self, weight: i128) -> f64 {
        self.publish.as_ref().map_or(0.0, |publish| publish.keep_probability(weight))
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::numeric::UNIT;
    use proptest::prelude::*;

    use super::*;
    use crate::weighting::{FULL_IMPORTANCE, SHARES};

    const ONE: i64 = UNIT.cast_signed();

    fn round([futility_bound, expected_path, target, settled_bound]: [i64; 4]) -> Scoring {
        let noise = Noise::Gaussian { sigma: 1.0 };
        let share = SHARES / 4;
        Scoring { share, noise, futility_bound, expected_path, target, settled_bound, publish: None }
    }

    #[test]
    fn prospects_count_by_their_square() {
        let round = round([-ONE, 3 * ONE, i64::MAX, 9 * ONE]);
        let found =
            [-2, -1, 0, 1, 2, 3, 8, 9].map(|at| round.importance(at * ONE, SHARES * 256 / 2, SHARES / 2));
        assert_eq!(found, [None, Some(1), Some(16), Some(64), Some(144), Some(256), Some(256), Some(0)]);
    }

    #[test]
    fn what_remains_counts_by_its_power_of_three_halves() {
        // Half of the budget brought a score of 4; the other half brings 5 at full importance.
        let at =
            |target: i64| round([0, 1, target, i64::MAX]).importance(4 * ONE, SHARES / 2 * 256, SHARES / 2);
        let found = [0, 4, 5, 6, 8, 9, 20].map(|target| at(target * ONE));
        assert_eq!(found, [1, 1, 22, 64, 183, 256, 256].map(Some));
    }

    proptest! {
        #[test]
        fn any_state_has_an_importance(
            score: i64, limits: [i64; 4], exposure in 0_u32..=SHARES * 256, left in 0..=SHARES,
        ) {
            let round = round(limits);
            let found = round.importance(score, exposure, left);
            prop_assert!(found <= Some(FULL_IMPORTANCE));
            prop_assert_eq!(found.is_none(), score < round.futility_bound);
            prop_assert_eq!(found == Some(0), score >= round.settled_bound.max(round.futility_bound));
        }
    }

    fn publish(noise_check: NoiseCheck) -> Publish {
        let sizes = [(1, UNIT, UNIT), (100, 2 * UNIT / 3, 300)];
        let sizes = sizes.map(|(items, norm, cap)| UserSize { items, norm, cap }).to_vec();
        let score_noise = Noise::Gaussian { sigma: 1.0 };
        Publish { threshold: Threshold::from_steps(5 * ONE), score_noise, noise_check, sizes }
    }

    #[test]
    fn noise_that_reaches_the_threshold_alone_is_turned_away_by_the_check() {
        let threshold = 5 * ONE;
        let places = [(4, 0), (5, 4), (5, 5), (9, 6), (9, -3)];
        let found = |check| places.map(|(score, noise)| publish(check).releases(score * ONE, noise * ONE));
        assert_eq!(found(NoiseCheck::BelowThreshold), [false, true, false, false, true]);
        assert_eq!(found(NoiseCheck::Absent), [false, true, true, true, true]);
        assert!(publish(NoiseCheck::BelowThreshold).releases(threshold, threshold - 1));
    }

    #[test]
    fn an_item_without_weight_passes_no_check() {
        let of = |check, weight: i64| publish(check).keep_probability(i128::from(weight * ONE));
        assert!(of(NoiseCheck::BelowThreshold, 0) < 1e-17 && of(NoiseCheck::Absent, 0) > 1e-7);
        assert!((of(NoiseCheck::BelowThreshold, 5) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn equal_weights_follow_the_norm_and_the_cap_of_the_next_larger_size() {
        let found = [0, 1, 2, 100, 101].map(|items| publish(NoiseCheck::Absent).equal_weight(items));
        assert_eq!(found, [UNIT, UNIT, 300, 300, 0]);
    }
}
