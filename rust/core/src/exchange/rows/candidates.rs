//! Candidates: the items that some round can release, given how many users they have at most.
//!
//! A user gives an item at most one unit. So a round releases an item of n users only if it would release n units. Any
//! task can check that, because the noise is a function of the item. Most items have few users, and hardly any of these
//! are candidates, so they need not move.

use crate::exchange::wire::UserCounts;
use crate::random::{Digest, Words};
use crate::rounds::Decider;
use crate::weighting::UNIT;

/// Finds the candidates among items.
#[derive(Debug)]
pub(crate) struct Candidates {
    users: UserCounts,
    rounds: Vec<(Decider, Words)>,
}

impl Candidates {
    /// `rounds` has the decider and the noise of every round.
    pub(crate) fn new(users: UserCounts, rounds: Vec<(Decider, Words)>) -> Self {
        Self { users, rounds }
    }

    /// The most users of each item; `None` for an item that no round would release even if each of them gave it a unit.
    pub(crate) fn most_users(&self, items: &[Digest]) -> Vec<Option<u32>> {
        let mut found = vec![None; items.len()];
        let mut drawn = vec![0; items.len()];
        for (decider, words) in &self.rounds {
            words.fill(items, &mut drawn);
            for ((found, item), word) in found.iter_mut().zip(items).zip(&drawn) {
                let users = self.users.at_most(*item);
                if found.is_none() && can_release(decider, users, *word) {
                    *found = Some(users);
                }
            }
        }
        found
    }
}

/// Whether a round can release an item of this number of users.
pub(super) fn can_release(decider: &Decider, users: u32, word: u128) -> bool {
    decider.releases(u64::from(users) * UNIT, word)
}
