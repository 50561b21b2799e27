//! Weights become decisions.

use super::sum::OnItems;
use crate::Result;
use crate::exchange::wire::Decisions;
use crate::random::{Digest, Words};
use crate::rounds::Decider;

/// The stage that decides a round.
#[derive(Debug)]
pub struct Decide {
    rule: Decider,
    words: Words,
    with_weights: bool,
}

impl Decide {
    pub(crate) fn new(rule: Decider, words: Words, with_weights: bool) -> Self {
        Self { rule, words, with_weights }
    }
}

impl OnItems for Decide {
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        let digests: Vec<Digest> = items.iter().map(|(item, _)| *item).collect();
        let mut words = vec![0; digests.len()];
        self.words.fill(&digests, &mut words);
        for (&(item, weight), &word) in items.iter().zip(&words) {
            if weight > 0 && self.rule.releases(weight, word) {
                let noisy = if self.with_weights { self.rule.noisy_weight(weight, word) } else { 0 };
                Decisions::push(item, noisy, packed);
            }
        }
        Ok(())
    }
}
