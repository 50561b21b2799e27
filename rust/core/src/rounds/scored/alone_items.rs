//! The items that users alone hold, beside these users.

use std::ops::Range;

use super::alone::Alone;
use super::deciding::{Deciding, Noises};
use crate::Result;
use crate::contributions::ItemCode;
use crate::numeric::widths::codes;
use crate::random::Digest;
use crate::rounds::decision::{ItemState, Outcome};
use crate::rounds::selected::Released;
use crate::weighting::Spread;

/// Abandoned items leave when they are one in so many.
const LEAVE: usize = 8;

/// The items that some users alone hold, user after user, and what is known of each.
#[derive(Debug, Default)]
pub(super) struct AloneItems {
    codes: Vec<u32>,
    digests: Vec<Digest>,
    known: Vec<Alone>,
    /// So many are there, and so many of them are abandoned.
    len: usize,
    abandoned: usize,
}

impl AloneItems {
    /// Items of these codes and digests.
    pub(super) fn new(codes: Vec<u32>, digests: Vec<Digest>) -> Self {
        Self { len: codes.len(), codes, digests, ..Self::default() }
    }

    /// Before the first round.
    pub(super) fn begin(&mut self) {
        self.known = vec![Alone::new(); self.len];
    }

    /// The squared importances of the items of a range.
    #[inline]
    pub(super) fn squares(&self, range: Range<usize>) -> u64 {
        self.known[range].iter().map(Alone::square).sum()
    }

    /// The items from the place `at` on get what their users give, who have so many of them each.
    pub(super) fn get<'l>(&mut self, mut at: usize, users: impl Iterator<Item = (&'l u32, &'l Spread<'l>)>) {
        for (len, spread) in users {
            let items = &mut self.known[at..at + *len as usize];
            at += items.len();
            for item in items {
                item.get(spread);
            }
        }
    }

    /// Begin to decide the items.
    pub(super) fn begin_round<'a>(&self, deciding: Deciding<'a>) -> Round<'a> {
        let leave = self.abandoned * LEAVE > self.len;
        Round { deciding, leave, to: 0, abandoned: 0, noises: Noises::default() }
    }
}

/// A round in which items are decided from the first one on.
pub(super) struct Round<'a> {
    deciding: Deciding<'a>,
    /// Whether abandoned items leave, and the others move together. If few are abandoned, that is not worth it.
    leave: bool,
    /// The place after the items that stay.
    to: usize,
    /// Those of them that are abandoned.
    abandoned: usize,
    noises: Noises,
}

impl Round<'_> {
    /// Decide the items of a range, of users who have as many of them as `lens` says. `lens` tells then how many stay.
    ///
    /// # Errors
    /// [`Error::Internal`] for an item that got more than the norm of a user.
    pub(super) fn decide<'l>(
        &mut self,
        items: &mut AloneItems,
        (range, lens): (Range<usize>, impl Iterator<Item = &'l mut u32>),
        released: &mut Vec<Released>,
    ) -> Result<()> {
        let noises = self.deciding.draw(&items.digests[range.clone()], &mut self.noises);
        let known = &mut items.known[range.clone()];
        for (at, (known, noise)) in range.clone().zip(known.iter_mut().zip(noises)) {
            match self.deciding.outcome(known.state(), known.checked_weight()?, *noise) {
                Outcome::Kept(state) => known.set(state),
                Outcome::Abandoned => known.set(ItemState::ABANDONED),
                Outcome::Released(weight) => {
                    let item = ItemCode::from_index(items.codes[at] as usize);
                    released.push(Released { item, digest: items.digests[at], weight });
                    known.set(ItemState::ABANDONED);
                }
            }
        }
        if self.leave {
            self.leave(items, range.start, lens);
        } else {
            self.abandoned += known.iter().filter(|known| known.is_abandoned()).count();
            self.to = range.end;
        }
        Ok(())
    }

    /// Move the items of users together, from the place `at` on, without those that are abandoned.
    fn leave<'l>(&mut self, items: &mut AloneItems, mut at: usize, lens: impl Iterator<Item = &'l mut u32>) {
        for len in lens {
            let before = self.to;
            for _ in 0..*len {
                let known = items.known[at];
                items.known[self.to] = known;
                items.digests[self.to] = items.digests[at];
                items.codes[self.to] = items.codes[at];
                // Without a branch: who leaves cannot be predicted.
                self.to += usize::from(!known.is_abandoned());
                at += 1;
            }
            *len = codes(self.to - before);
        }
    }

    /// All items were decided.
    pub(super) fn end(self, items: &mut AloneItems) {
        (items.len, items.abandoned) = (self.to, self.abandoned);
    }
}
