//! Candidates: the items that some round can release, given how many users they have at most.
//!
//! A user gives an item at most one unit. So a round releases an item of n users only if it would release n units. Any
//! task can check that, because the noise is a function of the item. Most items have few users, and hardly any of these
//! are candidates, so they need not move.

use dpsel_core::rounds::Deciding;
use dpsel_exact::random::Digest;

use crate::exchange::wire::UserCounts;

/// What the rounds can release.
#[derive(Debug)]
pub(crate) struct Chances(pub(crate) Vec<Deciding>);

impl Chances {
    /// Whether some round would release each item if so many users gave it a unit.
    pub(crate) fn can_release(&self, items: &[Digest], users: &[u32]) -> Vec<bool> {
        let mut found = vec![false; items.len()];
        for round in &self.0 {
            round.each_possible(items, users.iter().copied(), |place| found[place] = true);
        }
        found
    }

    /// The most users of each item; `None` for an item that no round would release even if each of them gave it a unit.
    pub(crate) fn most_users(&self, items: &[Digest], users: &UserCounts) -> Vec<Option<u32>> {
        let users: Vec<u32> = items.iter().map(|item| users.at_most(*item)).collect();
        let found = self.can_release(items, &users);
        found.into_iter().zip(users).map(|(found, users)| found.then_some(users)).collect()
    }
}
