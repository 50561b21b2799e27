//! Users come into a block one after the other, with the items that they keep.

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::{CodedWords, Digest, ReleaseKey};

use super::rows::MOST_USERS;
use super::users::{Kept, UserBlock};
use crate::bounding::Priorities;
use crate::weighting::Allowances;

/// Bounds users, and collects them until they are a block.
#[derive(Debug, Clone)]
pub struct BlockFiller {
    bound: usize,
    priorities: Priorities,
    allowances: Allowances,
    places: Vec<u8>,
    lens: Vec<(u32, u32)>,
    shared: Vec<u32>,
    alone: Vec<Digest>,
}

impl BlockFiller {
    /// No users yet.
    #[must_use]
    pub fn new(bound: L0Bound, key: &ReleaseKey, allowances: Allowances) -> Self {
        let (bound, priorities) = (bound.get() as usize, Priorities::new(key));
        let (places, lens, shared, alone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { bound, priorities, allowances, places, lens, shared, alone }
    }

    /// Add a user with the places of its distinct items, of which it keeps those of the first priorities. `slot` says for
    /// the place of an item the slot if it is shared, or else the item. `keyed` is a buffer.
    ///
    /// A user without an allowance is left out: it gives nothing in any round.
    pub fn add(
        &mut self,
        (items, user, mut places): (&[Digest], Digest, &mut [u32]),
        slot: impl FnMut(&u32) -> Result<u32, Digest>,
        keyed: &mut CodedWords,
    ) {
        if places.len() > self.bound {
            self.priorities.order(user, places, |place| items[place as usize], self.bound, keyed);
            places = &mut places[..self.bound];
        }
        let allowance = self.allowances.short_place(places.len());
        if places.is_empty() || !self.allowances.has(allowance) {
            return;
        }
        let before = (self.shared.len(), self.alone.len());
        for item in places.iter().map(slot) {
            match item {
                Ok(slot) => self.shared.push(slot),
                Err(digest) => self.alone.push(digest),
            }
        }
        self.places.push(allowance);
        self.lens.push((codes(self.shared.len() - before.0), codes(self.alone.len() - before.1)));
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.shared.len() + self.alone.len()
    }

    /// Whether a block of about so many rows is full, if so many rows of shared items count as one.
    #[must_use]
    pub fn is_full(&self, rows: usize, shared_in_row: usize) -> bool {
        self.alone.len() + self.shared.len() / shared_in_row >= rows || self.places.len() >= MOST_USERS
    }

    /// The block, before [`UserBlock::begin`]. The next user begins another one.
    pub fn end(&mut self) -> UserBlock {
        let digests = std::mem::take(&mut self.alone);
        let kept = Kept {
            allowances: std::mem::take(&mut self.places),
            lens: &self.lens,
            shared: &self.shared,
            alone: (vec![(); digests.len()], digests),
            lines: None,
        };
        let block = UserBlock::new(kept, &self.allowances);
        self.lens.clear();
        self.shared.clear();
        block
    }
}
