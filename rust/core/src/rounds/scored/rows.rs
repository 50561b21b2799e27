//! The rows of items that several users keep.
//!
//! They stand by slot, not by user. So what is known of an item is read and written in order, for all users of a part at
//! once. The places that are hit at random are those of the users, who are few enough for the cache.

use super::sums::Adding;
use crate::weighting::{Drift, Spread};

/// Users of a part at most. Their numbers have 16 bits.
pub(super) const USERS: usize = if cfg!(test) { 50 } else { 1 << 14 };
const _: () = assert!(USERS <= 1 << u16::BITS);

/// Rows of a part of the users, by slot: one entry of each column.
#[derive(Debug, Default)]
pub(super) struct Rows {
    slots: Vec<u32>,
    /// The user, counted from the first one of the part.
    users: Vec<u16>,
    /// What the user gave to the item, if some user has a cap that binds.
    drifts: Vec<Drift>,
}

/// A row while rows are sorted: by slot.
#[expect(clippy::cast_possible_truncation, reason = "at most `USERS`")]
pub(super) fn keyed(slot: u32, user: usize) -> u64 {
    debug_assert!(user < USERS);
    u64::from(slot) << u16::BITS | u64::from(user as u16)
}

impl Rows {
    /// These [`keyed`] rows, before the first round.
    #[expect(clippy::cast_possible_truncation, reason = "both parts of a key fit, see `keyed`")]
    pub(super) fn new(keys: &mut [u64]) -> Self {
        keys.sort_unstable();
        let slots = keys.iter().map(|key| (key >> u16::BITS) as u32).collect();
        Self { slots, users: keys.iter().map(|key| *key as u16).collect(), drifts: Vec::new() }
    }

    /// Have a place for what users give.
    pub(super) fn begin(&mut self) {
        self.drifts = vec![0; self.slots.len()];
    }

    /// Drop the rows of items without importance, and add the squared importances of the others to those of the users.
    pub(super) fn add_squares(&mut self, importances: &[u16], squares: &mut [u64]) {
        let left = if self.drifts.is_empty() {
            self.drop_rows::<false>(importances, squares)
        } else {
            self.drop_rows::<true>(importances, squares)
        };
        self.slots.truncate(left);
        self.users.truncate(left);
        self.drifts.truncate(left);
    }

    /// Move the rows that stay to the front; returns their number.
    fn drop_rows<const DRIFTS: bool>(&mut self, importances: &[u16], squares: &mut [u64]) -> usize {
        let mut left = 0;
        // Without a branch: whether a row stays cannot be predicted.
        for at in 0..self.slots.len() {
            let (slot, user) = (self.slots[at], self.users[at]);
            let importance = importances[slot as usize];
            (self.slots[left], self.users[left]) = (slot, user);
            if DRIFTS {
                self.drifts[left] = self.drifts[at];
            }
            squares[usize::from(user)] += u64::from(importance) * u64::from(importance);
            left += usize::from(importance > 0);
        }
        left
    }

    /// Let the users give, each by its spread.
    pub(super) fn give(
        &mut self,
        importances: &[u16],
        spreads: &[Spread<'_>],
        (sums, private): (&Adding<'_>, &mut [u32]),
    ) {
        let rows = self.slots.iter().zip(&self.users);
        if self.drifts.is_empty() {
            for (slot, user) in rows {
                let weight = spreads[usize::from(*user)].uncapped(importances[*slot as usize]);
                sums.add(private, *slot, weight);
            }
        } else {
            for ((slot, user), drift) in rows.zip(&mut self.drifts) {
                let weight = spreads[usize::from(*user)].weight(importances[*slot as usize], drift);
                sums.add(private, *slot, weight);
            }
        }
    }
}
