//! The decision about one item in one round, for this engine and for the exchange.

use std::sync::Arc;

use dpsel_exact::noise::{NoisyThreshold, Threshold};
use dpsel_exact::numeric::widths::clipped;
use dpsel_exact::{Error, Result};

use super::calibration::Calibration;
use super::rule::Rule;
use super::scoring::Scoring;
use super::screening::Screening;
use crate::threshold::Noisy;
use crate::threshold::curve::Curve;
use dpsel_exact::numeric::UNIT;

use crate::weighting::{FULL_IMPORTANCE, SHARES};

/// The state of one item after the earlier rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemState {
    /// The sum of the noise of all scored rounds, in grid steps. With the weight of these rounds it is the cumulative
    /// score.
    pub(crate) noise: i64,
    /// The sum of share times importance over the scored rounds.
    pub(crate) exposure: u32,
    /// The relative share of a user's weight that the item gets. An item of importance 0 is settled if it has exposure,
    /// and abandoned if it has none.
    pub(crate) importance: u16,
}

impl Default for ItemState {
    /// Before the first round.
    fn default() -> Self {
        Self { noise: 0, exposure: 0, importance: FULL_IMPORTANCE }
    }
}

impl ItemState {
    /// Of an item that takes no part in later rounds.
    pub(crate) const ABANDONED: Self = Self { noise: 0, exposure: 0, importance: 0 };

    /// Whether the item takes no part in later scored rounds. A settled item has exposure.
    #[inline]
    pub(crate) fn is_abandoned(self) -> bool {
        self.exposure | u32::from(self.importance) == 0
    }

    /// Whether an item of this weight takes part in a round that does not screen.
    ///
    /// An item that nobody holds is never released, because the proofs count only noise on items that somebody holds.
    /// In scored rounds no item joins a user's set later. So an item with `exposure > 0` was held in the first round,
    /// even if it gets no weight now.
    #[inline]
    pub(super) fn takes_part(self, weight: u64) -> bool {
        self.exposure > 0 || (weight > 0 && self.importance > 0)
    }
}

/// The outcome of a round for one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemOutcome {
    /// The item is released with this noisy weight in grid steps, or 0 if no noisy weight was asked for or drawn.
    Released(i64),
    /// The item is never released. Users give it no more weight.
    Abandoned,
    /// The item stays, in this state.
    Kept(ItemState),
}

/// The largest weight that noise may be added to: 2^32 users of one unit each, or half as many of two.
const LARGEST: u64 = UNIT << 32;

const NO_ROUND: Error = Error::Internal("there is no such round");

/// The whole weight of an item, if noise may be added to it.
///
/// # Errors
/// [`Error::Capacity`] if it is too large.
pub(crate) fn checked_weight(weight: u64) -> Result<u64> {
    let too_many = Error::Capacity { what: "users of one item", limit: 1 << 32 };
    if weight <= LARGEST { Ok(weight) } else { Err(too_many) }
}

/// A round, ready to decide items.
#[derive(Debug)]
pub struct Decider {
    kind: DeciderKind,
    with_weights: bool,
}

#[derive(Debug)]
enum DeciderKind {
    Noisy {
        noise: Box<NoisyThreshold>,
        threshold: Threshold,
        /// A published noisy weight is the threshold plus a multiple of this, in grid steps.
        step: u64,
    },
    Curve(Arc<Curve>),
    Screening {
        screening: Screening,
        noise: Box<NoisyThreshold>,
    },
}

/// A scored round, ready to decide items.
#[derive(Debug)]
pub(super) struct ScoredRound {
    scoring: Scoring,
    noise: NoisyThreshold,
    /// The sum of the shares of the later rounds.
    left: u32,
    with_weights: bool,
}

impl Decider {
    /// Prepare the round of this number, counted from 0. `with_weights` asks for noisy weights to publish.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no such round, or if it ranks or scores; as [`Curve::of`].
    pub fn new(calibration: &Calibration, number: u32, with_weights: bool) -> Result<Self> {
        let round = calibration.rounds.get(number as usize).ok_or(NO_ROUND)?;
        let noise_of = |noise| Box::new(NoisyThreshold::new(noise, Threshold::from_steps(0)));
        let kind = match &round.rule {
            Rule::Noisy(Noisy { noise, threshold }) => DeciderKind::Noisy {
                noise: Box::new(NoisyThreshold::new(*noise, *threshold)),
                threshold: *threshold,
                step: round.published_step(),
            },
            Rule::Curve(spec) => DeciderKind::Curve(Curve::of(spec.curve, spec.quantum)?),
            Rule::Screening(screening) => {
                DeciderKind::Screening { screening: *screening, noise: noise_of(screening.noise) }
            }
            Rule::Ranking(_) => return Err(Error::Internal("a ranking round decides no item")),
            Rule::Scoring(_) => return Err(Error::Internal("a scored round decides items in blocks")),
        };
        Ok(Self { kind, with_weights })
    }

    /// Whether noisy weights are published.
    pub(crate) fn shows_weights(&self) -> bool {
        self.with_weights
    }

    /// Whether the round draws noise for an item and decides it. An item without part in the round keeps its state.
    ///
    /// A screening round draws noise for every item, held or not: only the noisy weight may decide whether an item is
    /// abandoned.
    #[inline]
    pub(crate) fn takes_part(&self, state: ItemState, weight: u64) -> bool {
        match &self.kind {
            DeciderKind::Noisy { .. } | DeciderKind::Curve(_) => state.takes_part(weight),
            DeciderKind::Screening { .. } => true,
        }
    }

    /// The positions of the items that may change, each with its weight and its word. Most items of a round keep their state.
    #[inline]
    pub(super) fn each_change(&self, weights: &[u64], words: &[u128], mut changes: impl FnMut(usize)) {
        let items = weights.iter().zip(words).enumerate();
        match &self.kind {
            DeciderKind::Noisy { noise, .. } => noise.each_released(weights, words, changes),
            DeciderKind::Curve(curve) => items
                .filter(|(_, (weight, word))| curve.releases(**weight, **word))
                .for_each(|(at, _)| changes(at)),
            DeciderKind::Screening { .. } => items.for_each(|(at, _)| changes(at)),
        }
    }

    /// Decide an item from its state, its weight in grid steps and its pseudorandom word for the round's noise.
    ///
    /// # Contract
    /// The same arguments give the same outcome on every machine. An item that does not [take part](Self::takes_part)
    /// keeps its state and is not released.
    #[inline]
    #[must_use]
    pub(crate) fn decide(&self, state: ItemState, weight: u64, word: u128) -> ItemOutcome {
        if !self.takes_part(state, weight) {
            return ItemOutcome::Kept(state);
        }
        match &self.kind {
            DeciderKind::Noisy { noise, threshold, step } if noise.releases(weight, word) => {
                let published = || in_steps(noise.noisy_weight(weight, word), *threshold, *step);
                ItemOutcome::Released(if self.with_weights { published() } else { 0 })
            }
            DeciderKind::Curve(curve) if curve.releases(weight, word) => ItemOutcome::Released(0),
            DeciderKind::Noisy { .. } | DeciderKind::Curve(_) => ItemOutcome::Kept(state),
            DeciderKind::Screening { screening, noise } => {
                match screening.importance(noise.noisy_weight(weight, word)) {
                    0 => ItemOutcome::Abandoned,
                    importance => ItemOutcome::Kept(ItemState { importance, ..state }),
                }
            }
        }
    }

    /// Whether an item in its first state, before any round, is released with this weight.
    #[must_use]
    pub(super) fn releases(&self, weight: u64, word: u128) -> bool {
        match self.decide(ItemState::default(), weight, word) {
            ItemOutcome::Released(_) => true,
            ItemOutcome::Abandoned | ItemOutcome::Kept(_) => false,
        }
    }
}

impl ScoredRound {
    /// Prepare the round of this number, counted from 0.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no such round, or if not all rounds are scored.
    pub(super) fn new(calibration: &Calibration, number: u32, with_weights: bool) -> Result<Self> {
        let (rounds, _) = calibration.scoring().ok_or(Error::Internal(
            "if one round is scored, all rounds have to be, and the last one needs `publish`",
        ))?;
        let Some([earlier @ .., scoring]) = rounds.get(..=number as usize) else { return Err(NO_ROUND) };
        let left = earlier
            .iter()
            .fold(SHARES - scoring.share.min(SHARES), |left, earlier| left.saturating_sub(earlier.share));
        let noise = NoisyThreshold::new(scoring.noise, Threshold::from_steps(0));
        Ok(Self { scoring: (*scoring).clone(), noise, left, with_weights })
    }

    /// The noise of each word, in place of what was in `noises`.
    pub(super) fn noises(&self, words: &[u128], noises: &mut Vec<i64>) {
        noises.clear();
        self.noise.append_noises(words, noises);
    }

    /// The share of the round.
    pub(super) fn share(&self) -> u32 {
        self.scoring.share
    }

    /// Whether the round releases items: the last one does.
    pub(super) fn is_last(&self) -> bool {
        self.scoring.publish.is_some()
    }

    /// Decide an item that takes part from its earlier state, the weight of all rounds and the noise of this one.
    #[inline]
    pub(super) fn decide(&self, state: ItemState, weight: u64, noise: i64) -> ItemOutcome {
        let Some(publish) = &self.scoring.publish else {
            let after = self.after(state, weight, noise);
            return if after.is_abandoned() { ItemOutcome::Abandoned } else { ItemOutcome::Kept(after) };
        };
        let (noise, score) = noise_and_score(state, weight, noise);
        if publish.releases(score, noise) {
            ItemOutcome::Released(if self.with_weights { score } else { 0 })
        } else {
            ItemOutcome::Abandoned
        }
    }

    /// The importance that an item allows those below it, from its state after the round and the weight of all rounds.
    #[inline]
    pub(super) fn allowed_below(&self, state: ItemState, weight: u64) -> u16 {
        match state {
            ItemState::ABANDONED => 0,
            ItemState { importance: 0, .. } => FULL_IMPORTANCE,
            ItemState { noise, .. } => self.scoring.allowed_below(noise.saturating_add(clipped(weight))),
        }
    }

    /// The state after a round that is not the last one, of an item that takes part.
    #[inline]
    pub(super) fn after(&self, state: ItemState, weight: u64, noise: i64) -> ItemState {
        let Self { scoring, left, .. } = self;
        let exposure = state.exposure.saturating_add(scoring.share * u32::from(state.importance));
        let (noise, score) = noise_and_score(state, weight, noise);
        // A settled item stays so.
        let importance =
            if state.importance == 0 { Some(0) } else { scoring.importance(score, exposure, *left) };
        importance.map_or(ItemState::ABANDONED, |importance| ItemState { noise, exposure, importance })
    }
}

/// The noise of all rounds and the score, from the earlier state, the weight of all rounds and the noise of this one.
///
/// Calibration keeps noise and weights far below 2^63, so nothing is clipped and nothing saturates.
#[inline]
fn noise_and_score(state: ItemState, weight: u64, noise: i64) -> (i64, i64) {
    let noise = state.noise.saturating_add(noise);
    (noise, noise.saturating_add(clipped(weight)))
}

/// Round a noisy weight down to the threshold plus a multiple of `step`.
fn in_steps(noisy: i64, threshold: Threshold, step: u64) -> i64 {
    // A step divides 2^64, so the remainder is right even where the difference wraps.
    let beyond = noisy.wrapping_sub(threshold.steps()).rem_euclid(step.cast_signed());
    noisy.saturating_sub(beyond)
}

#[cfg(test)]
mod tests {
    use dpsel_exact::noise::Noise;

    use super::*;

    /// The first of two scored rounds, in which items settle at 20 units.
    fn scored() -> ScoredRound {
        let [futility_bound, expected_path, target, settled_bound] =
            [0, 2, 10, 20].map(|units| units * UNIT.cast_signed());
        let (noise, share) = (Noise::Gaussian { sigma: 1.0 }, SHARES / 2);
        let scoring =
            Scoring { share, noise, futility_bound, expected_path, target, settled_bound, publish: None };
        let noise = NoisyThreshold::new(noise, Threshold::from_steps(0));
        ScoredRound { scoring, noise, left: SHARES / 2, with_weights: false }
    }

    /// A word in the middle: nearly no noise.
    const WORD: u128 = 1 << 127;

    #[test]
    fn an_item_that_is_settled_stays_so() {
        let round = scored();
        let mut noises = Vec::new();
        round.noises(&[WORD], &mut noises);
        let after = |state, weight| {
            let ItemOutcome::Kept(state) = round.decide(state, weight, noises[0]) else { panic!("not kept") };
            state
        };
        let settled = after(ItemState::default(), 1000 * UNIT);
        assert!(settled.importance == 0 && settled.exposure > 0 && settled.takes_part(0));
        for weight in [1000 * UNIT, 10 * UNIT, 0] {
            let state = after(settled, weight);
            assert_eq!((state.importance, state.exposure), (0, settled.exposure));
        }
    }

    /// The word with the most noise.
    #[test]
    fn an_item_without_weight_is_not_released_by_noise() {
        let (noise, threshold) = (Noise::Gaussian { sigma: 1.0 }, Threshold::from_steps(1));
        let noise = Box::new(NoisyThreshold::new(noise, threshold));
        let plain = Decider { kind: DeciderKind::Noisy { noise, threshold, step: 1 }, with_weights: false };
        assert!(plain.releases(1, 0) && !plain.releases(0, 0));
        let first = ItemState::default();
        assert!(plain.takes_part(first, 1) && !plain.takes_part(first, 0));
        assert_eq!(plain.decide(first, 0, 0), ItemOutcome::Kept(first));
    }

    #[test]
    fn an_item_that_is_abandoned_takes_no_part() {
        assert!(ItemState::ABANDONED.is_abandoned() && !ItemState::ABANDONED.takes_part(1000 * UNIT));
    }
}
