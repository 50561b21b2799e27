//! Weights become decisions.

use super::sum::OnItems;
use crate::Result;
use crate::exchange::wire::Decisions;
use crate::random::{Digest, Words};
use crate::rounds::{Decider, ItemState, Outcome};

/// The stage that decides a round.
#[derive(Debug)]
pub struct Decide {
    decider: Decider,
    words: Words,
}

impl Decide {
    pub(crate) fn new(decider: Decider, words: Words) -> Self {
        Self { decider, words }
    }
}

impl OnItems for Decide {
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        let digests: Vec<Digest> = items.iter().map(|(item, _)| *item).collect();
        let mut words = vec![0; digests.len()];
        self.words.fill(&digests, &mut words);
        for (&(item, weight), &word) in items.iter().zip(&words) {
            if let Outcome::Released(noisy) = self.decider.decide(ItemState::default(), weight, word) {
                Decisions::push(item, noisy, packed);
            }
        }
        Ok(())
    }
}
