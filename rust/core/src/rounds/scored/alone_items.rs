//! The items that users alone keep, beside these users.

use std::ops::Range;

use super::alone::Alone;
use super::deciding::{Noises, ScoredDecider};
use super::rows::LEAVE_AT;
use crate::Result;
use crate::contributions::ItemCode;
use crate::numeric::widths::codes;
use crate::random::Digest;
use crate::rounds::selected::Released;
use crate::weighting::Spread;

/// The items that some users alone keep, user after user, and what is known of each.
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

    /// Make room for what rounds make of them.
    pub(super) fn begin(&mut self) {
        self.known = vec![Alone::new(); self.len];
    }

    /// The sum of the squared importances of the items of a range.
    #[inline]
    pub(super) fn squares(&self, range: Range<usize>) -> u64 {
        self.known[range].iter().map(Alone::square).sum()
    }

    /// The items from the place `at` on receive what their users give, who have so many of them each.
    pub(super) fn receive<'u>(
        &mut self,
        mut at: usize,
        users: impl Iterator<Item = (&'u u32, &'u Spread<'u>)>,
    ) {
        for (len, spread) in users {
            let items = &mut self.known[at..at + *len as usize];
            at += items.len();
            for item in items {
                item.receive(spread);
            }
        }
    }

    /// Begin to decide the items.
    pub(super) fn pass<'a>(&self, decider: ScoredDecider<'a>) -> Pass<'a> {
        let compacts = self.abandoned * LEAVE_AT > self.len;
        Pass { decider, compacts, kept: 0, abandoned: 0, noises: Noises::default() }
    }
}

/// A round in which items are decided from the first one on.
pub(super) struct Pass<'a> {
    decider: ScoredDecider<'a>,
    /// Whether abandoned items leave, and the others move together. If few are abandoned, that is not worth it.
    compacts: bool,
    /// The items so far that stay.
    kept: usize,
    /// Those of them that are abandoned.
    abandoned: usize,
    noises: Noises,
}

impl Pass<'_> {
    /// Decide the items of a range, of users who have as many of them as `lens` says. `lens` tells then how many stay.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] for an item that got more than the norm of a user.
    pub(super) fn decide<'u>(
        &mut self,
        items: &mut AloneItems,
        range: Range<usize>,
        lens: impl Iterator<Item = &'u mut u32>,
        released: &mut Vec<Released>,
    ) -> Result<()> {
        let AloneItems { codes, digests, known, .. } = items;
        let (codes, digests) = (&codes[range.clone()], &digests[range.clone()]);
        let known = &mut known[range.clone()];
        self.decider.decide(digests, known, &mut self.noises, |place, weight| {
            let item = ItemCode::from_index(codes[place] as usize);
            released.push(Released { item, digest: digests[place], weight });
        })?;
        if self.compacts {
            self.compact(items, range.start, lens);
        } else {
            self.abandoned += known.iter().filter(|known| known.is_abandoned()).count();
            self.kept = range.end;
        }
        Ok(())
    }

    /// Move the items of users together, from the place `at` on, without those that are abandoned.
    fn compact<'u>(
        &mut self,
        items: &mut AloneItems,
        mut at: usize,
        lens: impl Iterator<Item = &'u mut u32>,
    ) {
        for len in lens {
            let before = self.kept;
            for _ in 0..*len {
                let known = items.known[at];
                items.known[self.kept] = known;
                items.digests[self.kept] = items.digests[at];
                items.codes[self.kept] = items.codes[at];
                // Without a branch: who leaves cannot be predicted.
                self.kept += usize::from(!known.is_abandoned());
                at += 1;
            }
            *len = codes(self.kept - before);
        }
    }

    /// All items were decided.
    pub(super) fn end(self, items: &mut AloneItems) {
        (items.len, items.abandoned) = (self.kept, self.abandoned);
    }
}
