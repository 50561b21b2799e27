//! The items that users alone keep, in the order of these users.

use std::ops::Range;

use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use super::bytes::{DAMAGED, push, push_number, take, take_number};
use super::decisions::Noises;
use super::descent::{LoneLines, SharedLines};
use super::lone_item::Alone;
use super::round::BlockRound;
use super::rows::LEAVE_AT;
use crate::rounds::released::Released;
use crate::weighting::Spread;

/// Items that receive and are decided at a time.
const TOGETHER: usize = if cfg!(any(test, feature = "testing")) { 16 } else { 1024 };
/// Bytes of an item with a code.
pub(in crate::rounds) const BYTES: usize =
    size_of::<u32>() + size_of::<Digest>() + size_of::<u16>() + size_of::<Alone>();

/// The items that users of a block alone keep, and what is known of each.
#[derive(Debug, Default)]
pub(super) struct AloneItems<N> {
    names: Vec<N>,
    digests: Vec<Digest>,
    /// The user, counted from the first one of the block. Loops over the items of each user would be so short that
    /// processors mispredict their ends.
    users: Vec<u16>,
    known: Vec<Alone>,
    /// Where items stand above others.
    lines: Option<LoneLines>,
}

impl<N: Copy + Default> AloneItems<N> {
    /// Items of these names and digests, one user after the other, each with as many as `lens` says.
    pub(super) fn new(
        (names, digests): (Vec<N>, Vec<Digest>),
        lens: impl Iterator<Item = usize>,
        lines: Option<LoneLines>,
    ) -> Self {
        let mut users = Vec::with_capacity(digests.len());
        // Lengths first: numbers are taken one ahead, and none is left after the last user.
        for (len, user) in lens.zip(0..) {
            users.extend(std::iter::repeat_n(user, len));
        }
        Self { names, digests, users, known: Vec::new(), lines }
    }

    /// Make room for what rounds make of them.
    pub(super) fn begin(&mut self) {
        self.known.clear();
        self.known.resize(self.digests.len(), Alone::new());
    }

    /// Before a round: items above others limit these. Returns whether there are such lines.
    pub(super) fn limit(&mut self, shared: Option<&SharedLines>) -> bool {
        let (Some(lines), Some(shared)) = (&mut self.lines, shared) else { return false };
        lines.limit(&mut self.known, shared);
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Whether all shared items above these have slots below this one.
    pub(super) fn are_below(&self, slots: usize) -> bool {
        self.lines.as_ref().is_none_or(|lines| lines.are_below(slots))
    }

    /// Give other slots to the shared items above these.
    ///
    /// # Errors
    /// As [`LoneLines::renumber`].
    pub(super) fn renumber(&mut self, slots: &[u32]) -> Result<()> {
        self.lines.as_mut().map_or(Ok(()), |lines| lines.renumber(slots))
    }

    /// A round: the items receive what their users give, each by its spread, and are decided. Then the squares of their
    /// new importances are added to those of their users. If more than a few are abandoned, these leave. Returns whether
    /// they do.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] for an item that got far more than the norm of a user.
    pub(super) fn run(
        &mut self,
        spreads: &[Spread],
        squares: &mut [u64],
        round: &BlockRound,
        released: &mut Vec<Released<N>>,
    ) -> Result<bool> {
        let (all, mut abandoned, mut noises) = (self.known.len(), 0, Noises::default());
        for first in (0..all).step_by(TOGETHER) {
            let some = first..all.min(first + TOGETHER);
            self.receive(some.clone(), spreads);
            self.decide(some.clone(), round, &mut noises, released)?;
            if let Some(lines) = &mut self.lines {
                lines.note(first, &self.known[some.clone()], round);
            }
            abandoned += self.add_squares_of(some, squares);
        }
        let leave = abandoned * LEAVE_AT > all && !round.is_last();
        if leave {
            self.leave();
        }
        Ok(leave)
    }

    /// Some items receive what their users give.
    fn receive(&mut self, some: Range<usize>, spreads: &[Spread]) {
        for (known, user) in self.known[some.clone()].iter_mut().zip(&self.users[some]) {
            known.receive(&spreads[usize::from(*user)]);
        }
    }

    /// Add the squared importances of all items to those of their users.
    pub(super) fn add_squares(&self, squares: &mut [u64]) {
        self.add_squares_of(0..self.known.len(), squares);
    }

    /// The same for some items. Returns how many are abandoned.
    fn add_squares_of(&self, some: Range<usize>, squares: &mut [u64]) -> usize {
        let mut abandoned = 0;
        for (known, user) in self.known[some.clone()].iter().zip(&self.users[some]) {
            squares[usize::from(*user)] += known.square();
            abandoned += usize::from(known.is_abandoned());
        }
        abandoned
    }

    /// Decide some items.
    fn decide(
        &mut self,
        some: Range<usize>,
        round: &BlockRound,
        noises: &mut Noises,
        released: &mut Vec<Released<N>>,
    ) -> Result<()> {
        let (names, digests) = (&self.names[some.clone()], &self.digests[some.clone()]);
        round.decide(digests, &mut self.known[some], noises, |at, weight| {
            released.push(Released { item: names[at], digest: digests[at], weight });
        })
    }

    /// Let the abandoned items leave.
    fn leave(&mut self) {
        if let Some(lines) = &mut self.lines {
            lines.retain(|at| !self.known[at].is_abandoned());
        }
        let mut left = 0;
        for at in 0..self.known.len() {
            let known = self.known[at];
            self.known[left] = known;
            self.digests[left] = self.digests[at];
            self.names[left] = self.names[at];
            self.users[left] = self.users[at];
            // Without a branch: who leaves cannot be predicted.
            left += usize::from(!known.is_abandoned());
        }
        self.names.truncate(left);
        self.digests.truncate(left);
        self.users.truncate(left);
        self.known.truncate(left);
    }

    /// Append who holds which item. Names are not written.
    pub(super) fn pack_fixed(&self, packed: &mut Vec<u8>) {
        push_number(self.digests.len(), packed);
        push(&self.digests, packed);
        push(&self.users, packed);
        LoneLines::pack_fixed(self.lines.as_ref(), packed);
    }

    /// Append what rounds made of the items.
    pub(super) fn pack_changing(&self, packed: &mut Vec<u8>) {
        push(&self.known, packed);
        self.lines.iter().for_each(|lines| lines.pack_changing(packed));
    }

    /// Read what [`AloneItems::pack_fixed`] wrote, of so many users.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] if it is damaged.
    pub(super) fn read_fixed(&mut self, rest: &mut &[u8], users: usize) -> Result<()> {
        let len = take_number(rest)?;
        take(rest, len, &mut self.digests)?;
        take(rest, len, &mut self.users)?;
        self.names.resize(len, N::default());
        self.lines = LoneLines::read_fixed(rest, len)?;
        let last = self.users.iter().max();
        if last.is_none_or(|last| usize::from(*last) < users) { Ok(()) } else { Err(DAMAGED) }
    }

    /// Read what [`AloneItems::pack_changing`] wrote.
    ///
    /// # Errors
    /// As there.
    pub(super) fn read_changing(&mut self, rest: &mut &[u8]) -> Result<()> {
        take(rest, self.digests.len(), &mut self.known)?;
        self.lines.as_mut().map_or(Ok(()), |lines| lines.read_changing(rest))?;
        if self.known.iter().all(Alone::is_sound) { Ok(()) } else { Err(DAMAGED) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decisions::TrackedItem;
    use super::*;
    use crate::rounds::decision::ItemState;

    /// As many users as a block can have.
    #[test]
    fn items_have_the_users_they_came_from() {
        let lens: Vec<usize> = (0..usize::from(u16::MAX)).map(|user| user % 3).collect();
        let items = lens.iter().sum();
        let alone = AloneItems::new((vec![0_u32; items], vec![Digest(0); items]), lens.iter().copied(), None);
        let users = lens.iter().zip(0..).flat_map(|(len, user)| std::iter::repeat_n(user, *len));
        assert!(alone.users.iter().map(|user| usize::from(*user)).eq(users));
    }

    #[test]
    fn importances_above_the_full_one_are_damaged() {
        let mut items = AloneItems::new((vec![(); 3], vec![Digest(7); 3]), std::iter::once(3), None);
        items.begin();
        for (importance, is_sound) in [(0, true), (256, true), (257, false), (u16::MAX, false)] {
            items.known[1].set(ItemState { importance, ..ItemState::default() });
            let mut packed = Vec::new();
            items.pack_changing(&mut packed);
            assert_eq!(items.read_changing(&mut packed.as_slice()).is_ok(), is_sound, "{importance}");
        }
    }
}
