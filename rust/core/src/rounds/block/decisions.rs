//! Many items of a scored round, decided one after the other, on every engine.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use super::round::BlockRound;
use crate::rounds::decision::{ItemOutcome, ItemState};

/// Items whose noise is drawn together.
const DRAWN: usize = if cfg!(any(test, feature = "testing")) { 7 } else { 1024 };

/// What is known of an item after some rounds.
pub(super) trait TrackedItem {
    /// The sum of all weights so far.
    ///
    /// # Errors
    /// A weight to which noise cannot be added.
    fn weight(&self) -> Result<u64>;
    /// What earlier rounds made of it.
    fn state(&self) -> ItemState;
    /// Replace the state; the weight stays.
    fn set(&mut self, state: ItemState);
}

/// Buffers for the noise of some items.
#[derive(Debug, Default)]
pub(super) struct Noises {
    words: Vec<u128>,
    noises: Vec<i64>,
}

impl BlockRound {
    /// Decide some items and bring what is known of them up to date. Released ones are shown with their places and noisy
    /// weights, and count as abandoned then.
    ///
    /// # Errors
    /// As [`TrackedItem::weight`].
    pub(super) fn decide<K: TrackedItem>(
        &self,
        items: &[Digest],
        known: &mut [K],
        noises: &mut Noises,
        mut released: impl FnMut(usize, i64),
    ) -> Result<()> {
        let blocks = items.chunks(DRAWN).zip(known.chunks_mut(DRAWN));
        for (first, (items, known)) in (0..).step_by(DRAWN).zip(blocks) {
            self.draw(items, noises);
            if self.is_last() {
                self.release(known, &noises.noises, |place, weight| released(first + place, weight))?;
            } else {
                self.steer(known, &noises.noises)?;
            }
        }
        Ok(())
    }

    /// A round that is not the last one.
    fn steer<K: TrackedItem>(&self, known: &mut [K], noises: &[i64]) -> Result<()> {
        for (known, noise) in known.iter_mut().zip(noises) {
            let (state, weight) = (known.state(), known.weight()?);
            if state.takes_part(weight) {
                known.set(self.scored.after(state, weight, *noise));
            }
        }
        Ok(())
    }

    /// The last round.
    fn release<K: TrackedItem>(
        &self,
        known: &mut [K],
        noises: &[i64],
        mut released: impl FnMut(usize, i64),
    ) -> Result<()> {
        for (place, (known, noise)) in known.iter_mut().zip(noises).enumerate() {
            let (state, weight) = (known.state(), known.weight()?);
            if !state.takes_part(weight) {
                continue;
            }
            if let ItemOutcome::Released(noisy) = self.scored.decide(state, weight, *noise) {
                released(place, noisy);
            }
            known.set(ItemState::ABANDONED);
        }
        Ok(())
    }

    /// The noise of some items. A loop over draws alone is faster than draws between decisions, whose branches nobody can
    /// predict.
    fn draw(&self, items: &[Digest], Noises { words, noises }: &mut Noises) {
        words.clear();
        words.extend(items.iter().map(|item| item.0));
        self.words.replace(words);
        self.scored.noises(words, noises);
    }
}
