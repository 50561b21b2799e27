//! Users come into a block one after the other, with the items that they keep.

use dpsel_exact::Result;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::{CodedWords, Digest, ReleaseKey};

use super::descent::{Above, push_alone};
use super::rows::MOST_USERS;
use super::users::{Kept, UserBlock};
use crate::bounding::{PlacedItems, Priorities};
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
    /// What stands above each of these, if items stand above others.
    lines: Vec<[Above; 2]>,
    /// The places of the items that one user alone keeps.
    of_user: Vec<u32>,
}

impl BlockFiller {
    /// No users yet.
    #[must_use]
    pub fn new(bound: L0Bound, key: &ReleaseKey, allowances: Allowances) -> Self {
        let (bound, priorities) = (bound.get() as usize, Priorities::new(key));
        let (places, lens, alone, lines) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let [shared, of_user] = [Vec::new(), Vec::new()];
        Self { bound, priorities, allowances, places, lens, shared, alone, lines, of_user }
    }

    /// Add a user with the places of its distinct items, of which it keeps those of the first priorities. `slot_of` says
    /// for the place of an item the slot if it is shared. `keyed` is a buffer.
    ///
    /// A user without an allowance is left out: it gives nothing in any round.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] if the user has an item without those above it.
    pub fn add(
        &mut self,
        (items, user, mut places): (PlacedItems<'_>, Digest, &mut [u32]),
        mut slot_of: impl FnMut(u32) -> Option<u32>,
        keyed: &mut CodedWords,
    ) -> Result<()> {
        if places.len() > self.bound {
            self.priorities.order_places(user, places, items, self.bound, keyed);
            places = &mut places[..self.bound];
        }
        let allowance = self.allowances.short_place(places.len());
        if places.is_empty() || !self.allowances.has(allowance) {
            return Ok(());
        }
        let (before, first) = (self.shared.len(), self.alone.len());
        self.of_user.clear();
        for place in &*places {
            match slot_of(*place) {
                Some(slot) => self.shared.push(slot),
                None => self.of_user.push(*place),
            }
        }
        if let Some(lineage) = items.lineage {
            push_alone(&mut self.of_user, first, lineage, slot_of, &mut self.lines)?;
        }
        self.alone.extend(self.of_user.iter().map(|place| items.digests[*place as usize]));
        self.places.push(allowance);
        self.lens.push((codes(self.shared.len() - before), codes(self.alone.len() - first)));
        Ok(())
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
            lines: Some(std::mem::take(&mut self.lines)).filter(|lines| !lines.is_empty()),
        };
        let block = UserBlock::new(kept, &self.allowances);
        self.lens.clear();
        self.shared.clear();
        block
    }
}
