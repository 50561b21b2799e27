//! Weights become decisions.

use super::sum::OnItems;
use crate::Result;
use crate::exchange::wire::Decisions;
use crate::random::{Digest, Words};
use crate::rounds::{Decider, ItemState, Outcome};

/// Decides the items of a round.
#[derive(Debug)]
pub struct Decide {
    decider: Decider,
    words: Words,
    /// Taken off every weight before the decision, and added to a noisy weight that is published.
    lowered: u64,
}

impl Decide {
    pub(crate) fn new(decider: Decider, words: Words, lowered: u64) -> Self {
        Self { decider, words, lowered }
    }
}

impl OnItems for Decide {
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        let digests: Vec<Digest> = items.iter().map(|(item, _)| *item).collect();
        let mut words = vec![0; digests.len()];
        self.words.fill(&digests, &mut words);
        for (&(item, weight), &word) in items.iter().zip(&words) {
            let weight = weight.saturating_sub(self.lowered);
            if let Outcome::Released(noisy) = self.decider.decide(ItemState::default(), weight, word) {
                let added = if self.decider.shows_weights() { self.lowered } else { 0 };
                Decisions::push(item, noisy.saturating_add_unsigned(added), packed);
            }
        }
        Ok(())
    }
}
