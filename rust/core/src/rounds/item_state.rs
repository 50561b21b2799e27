//! What rounds of evidence know of one item, and what a round does with it.

use super::importance::factor;
use super::scoring::{SHARES, Scoring};
use crate::noise::{NoisyThreshold, Threshold};
use crate::weighting::FULL_FACTOR;

/// What is known of one item between rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemState {
    /// The sum of the shares of its noisy weights, in integer units.
    pub(crate) evidence: i64,
    /// The sum of share times factor over the rounds.
    pub(crate) exposure: u32,
    /// How much of a user's weight it gets, relative to other items; 0 once it is out.
    pub(crate) factor: u16,
}

impl Default for ItemState {
    /// Before the first round.
    fn default() -> Self {
        Self { evidence: 0, exposure: 0, factor: FULL_FACTOR }
    }
}

/// A round of evidence, ready to look at items.
#[derive(Debug)]
pub(crate) struct Steering {
    round: Scoring,
    noise: NoisyThreshold,
    /// The shares of the rounds to come.
    left: u32,
}

impl Steering {
    /// The round with this index.
    pub(crate) fn new(rounds: &[&Scoring], index: usize) -> Option<Self> {
        let round = (*rounds.get(index)?).clone();
        let spent: u32 = rounds[..=index].iter().map(|round| round.share).sum();
        let noise = NoisyThreshold::new(round.noise, Threshold::from_units(0));
        Some(Self { round, noise, left: SHARES.saturating_sub(spent) })
    }

    /// Whether the round publishes: factors do not change any more.
    pub(crate) fn is_last(&self) -> bool {
        self.round.publish.is_some()
    }

    /// Add the round's evidence for an item that is not out, given its weight and its pseudorandom word, and steer.
    #[inline]
    pub(crate) fn advance(&self, state: ItemState, weight: u64, word: u128) -> ItemState {
        let noisy = i128::from(self.noise.noisy_weight(weight, word));
        let more = (noisy * i128::from(self.round.share)) >> SHARES.ilog2();
        // Otherwise: a share above all of them, which no calibration has; the item is given up.
        // Calibration keeps noise and sums far from the ends of the range.
        let evidence = state.evidence.saturating_add(i64::try_from(more).unwrap_or(i64::MIN));
        let exposure = state.exposure.saturating_add(self.round.share * u32::from(state.factor));
        let factor = match self.round.publish {
            Some(_) => state.factor,
            None => factor(&self.round, evidence, exposure, self.left),
        };
        ItemState { evidence, exposure, factor }
    }

    /// Whether the round publishes the item.
    pub(crate) fn releases(&self, state: ItemState) -> bool {
        let publish = self.round.publish.as_ref();
        publish.is_some_and(|publish| state.factor > 0 && state.evidence >= publish.threshold.units())
    }
}
