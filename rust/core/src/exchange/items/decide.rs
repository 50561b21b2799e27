//! Weights become decisions.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use super::sum::OnItems;
use crate::exchange::wire::Decisions;
use crate::rounds::Deciding;

/// Decides the items of a round.
#[derive(Debug)]
pub struct Decide(Deciding);

impl Decide {
    pub(crate) fn new(round: Deciding) -> Self {
        Self(round)
    }
}

impl OnItems for Decide {
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        self.0.each_released(items, |place, noisy| Decisions::push(items[place].0, noisy, packed));
        Ok(())
    }
}
