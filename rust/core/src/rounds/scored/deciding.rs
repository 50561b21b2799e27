//! Many items of a scored round, decided one after the other.

use crate::random::{Digest, Words};
use crate::rounds::decision::{Decider, ItemState, Outcome, ScoredRound};
use crate::{Error, Result};

/// What decides the items of a scored round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deciding<'a> {
    decider: &'a Decider,
    scored: &'a ScoredRound,
    words: &'a Words,
}

/// Buffers for the noise of some items.
#[derive(Debug, Default)]
pub(crate) struct Noises {
    words: Vec<u128>,
    noises: Vec<i64>,
}

impl<'a> Deciding<'a> {
    /// # Errors
    /// [`Error::Internal`] for a round that is not scored.
    pub(crate) fn new(decider: &'a Decider, words: &'a Words) -> Result<Self> {
        let scored = decider.scored().ok_or(Error::Internal("a scored round is another one"))?;
        Ok(Self { decider, scored, words })
    }

    /// The noise of some items. A loop over draws alone is faster than draws between decisions, whose branches nobody can
    /// predict.
    pub(crate) fn draw<'n>(&self, items: &[Digest], Noises { words, noises }: &'n mut Noises) -> &'n [i64] {
        words.clear();
        words.extend(items.iter().map(|item| item.0));
        self.words.replace(words);
        self.scored.noises(words, noises);
        noises
    }

    /// As [`Decider::decide`], with the noise of the item.
    #[inline]
    pub(crate) fn outcome(&self, state: ItemState, weight: u64, noise: i64) -> Outcome {
        if self.decider.takes_part(state, weight) {
            self.scored.decide(state, weight, noise)
        } else {
            Outcome::Kept(state)
        }
    }
}
