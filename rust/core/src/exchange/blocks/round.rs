//! A scored round on blocks of users.

use super::parts::InParts;
use super::shared::SharedItems;
use super::users::Users;
use crate::Result;
use crate::exchange::wire::{PartContents, PartitionedValues, TO_DRIVER};
use crate::random::Words;
use crate::rounds::Decider;
use crate::weighting::RoundBudget;

/// Abandoned rows leave when they are more than one in so many: to look for them takes longer than to pass a few on.
const LEAVE_AT: usize = 8;

/// The budgets of a round, and what decides its items.
#[derive(Debug)]
pub(crate) struct BlockRound {
    budgets: Vec<RoundBudget>,
    decider: (Decider, Words),
    /// Packed decisions about items that one user alone holds.
    released: Vec<u8>,
}

impl BlockRound {
    pub(crate) fn new(budgets: Vec<RoundBudget>, decider: (Decider, Words)) -> Self {
        Self { budgets, decider, released: Vec::new() }
    }

    /// Let the users of a block give to their items. Returns whether later rounds need the block.
    ///
    /// # Errors
    /// As [`Users::run`].
    pub(crate) fn run(&mut self, users: &mut Users, shared: &mut SharedItems) -> Result<bool> {
        users.run(&self.budgets, shared, &self.decider, &mut self.released)?;
        users.hand_over_alone(shared);
        let (bytes, abandoned) = users.size();
        if abandoned * LEAVE_AT > bytes {
            users.leave(shared);
        }
        Ok(users.rows() > 0 && !self.decider.0.may_release())
    }

    /// What a task sends to the driver: sums of weights, and decisions.
    pub(crate) fn for_driver(&mut self, contents: PartContents, sums: &[u8]) -> PartitionedValues {
        let mut sent = PartitionedValues::default();
        let released = std::mem::take(&mut self.released);
        for (contents, bytes) in [(contents, sums), (PartContents::Decisions, released.as_slice())] {
            if !bytes.is_empty() {
                sent.push(TO_DRIVER, contents.part(bytes));
            }
        }
        sent
    }
}
