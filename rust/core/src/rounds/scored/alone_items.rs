//! The items that users alone keep, in the order of these users.

use std::ops::Range;

use super::alone::Alone;
use super::deciding::{Noises, ScoredDecider};
use super::rows::LEAVE_AT;
use crate::Result;
use crate::contributions::ItemCode;
use crate::random::Digest;
use crate::rounds::selected::Released;
use crate::weighting::Spread;

/// Items that receive and are decided at a time.
const BLOCK: usize = if cfg!(test) { 16 } else { 1024 };
/// Bytes of an item.
pub(super) const BYTES: usize =
    size_of::<u32>() + size_of::<Digest>() + size_of::<u16>() + size_of::<Alone>();

/// The items that users of a part alone keep, and what is known of each.
#[derive(Debug, Default)]
pub(super) struct AloneItems {
    codes: Vec<u32>,
    digests: Vec<Digest>,
    /// The user, counted from the first one of the part. Loops over the items of each user would be so short that
    /// processors mispredict their ends.
    users: Vec<u16>,
    known: Vec<Alone>,
    /// The number of abandoned ones.
    abandoned: usize,
}

impl AloneItems {
    /// Items of these codes and digests, one user after the other, each with as many as `lens` says.
    pub(super) fn new(codes: Vec<u32>, digests: Vec<Digest>, lens: impl Iterator<Item = usize>) -> Self {
        let mut users = Vec::with_capacity(codes.len());
        // Lengths first: numbers are taken one ahead, and none is left after the last user.
        for (len, user) in lens.zip(0..) {
            users.extend(std::iter::repeat_n(user, len));
        }
        Self { codes, digests, users, ..Self::default() }
    }

    /// Make room for what rounds make of them. Their squared importances are added to those of their users.
    pub(super) fn begin(&mut self, squares: &mut [u64]) {
        self.known = vec![Alone::new(); self.codes.len()];
        self.abandoned = self.add_squares(0..self.known.len(), squares);
    }

    /// A round: the items receive what their users give, each by its spread, and are decided. Then the squares of their
    /// new importances are added to those of their users. If more than a few were abandoned before, all abandoned items
    /// leave.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] for an item that got far more than the norm of a user.
    pub(super) fn run(
        &mut self,
        spreads: &[Spread],
        squares: &mut [u64],
        decider: ScoredDecider<'_>,
        released: &mut Vec<Released>,
    ) -> Result<()> {
        let all = self.known.len();
        let compacts = self.abandoned * LEAVE_AT > all;
        let (mut kept, mut noises) = (0, Noises::default());
        self.abandoned = 0;
        for first in (0..all).step_by(BLOCK) {
            let block = first..all.min(first + BLOCK);
            self.receive(block.clone(), spreads);
            self.decide(block.clone(), decider, &mut noises, released)?;
            let abandoned = self.add_squares(block.clone(), squares);
            if compacts {
                kept = self.compact(block, kept);
            } else {
                self.abandoned += abandoned;
            }
        }
        if compacts {
            self.codes.truncate(kept);
            self.digests.truncate(kept);
            self.users.truncate(kept);
            self.known.truncate(kept);
        }
        Ok(())
    }

    /// The items of a block receive what their users give.
    fn receive(&mut self, block: Range<usize>, spreads: &[Spread]) {
        for (known, user) in self.known[block.clone()].iter_mut().zip(&self.users[block]) {
            known.receive(&spreads[usize::from(*user)]);
        }
    }

    /// Add the squared importances of the items of a block to those of their users. Returns how many are abandoned.
    fn add_squares(&self, block: Range<usize>, squares: &mut [u64]) -> usize {
        let mut abandoned = 0;
        for (known, user) in self.known[block.clone()].iter().zip(&self.users[block]) {
            squares[usize::from(*user)] += known.square();
            abandoned += usize::from(known.is_abandoned());
        }
        abandoned
    }

    /// Decide the items of a block.
    fn decide(
        &mut self,
        block: Range<usize>,
        decider: ScoredDecider<'_>,
        noises: &mut Noises,
        released: &mut Vec<Released>,
    ) -> Result<()> {
        let (codes, digests) = (&self.codes[block.clone()], &self.digests[block.clone()]);
        decider.decide(digests, &mut self.known[block], noises, |place, weight| {
            let item = ItemCode::from_index(codes[place] as usize);
            released.push(Released { item, digest: digests[place], weight });
        })
    }

    /// Move the items of a block to the place `kept` and behind, without those that are abandoned. Returns where they end.
    fn compact(&mut self, block: Range<usize>, mut kept: usize) -> usize {
        for at in block {
            let known = self.known[at];
            self.known[kept] = known;
            self.digests[kept] = self.digests[at];
            self.codes[kept] = self.codes[at];
            self.users[kept] = self.users[at];
            // Without a branch: who leaves cannot be predicted.
            kept += usize::from(!known.is_abandoned());
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many users as a part can have.
    #[test]
    fn items_have_the_users_they_came_from() {
        let lens: Vec<usize> = (0..usize::from(u16::MAX)).map(|user| user % 3).collect();
        let items = lens.iter().sum();
        let alone = AloneItems::new(vec![0; items], vec![Digest(0); items], lens.iter().copied());
        let users = lens.iter().zip(0..).flat_map(|(len, user)| std::iter::repeat_n(user, *len));
        assert!(alone.users.iter().map(|user| usize::from(*user)).eq(users));
    }
}
