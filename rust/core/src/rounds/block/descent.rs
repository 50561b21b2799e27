//! Lines of descent: after each round the importance of an item is limited by the prospects of all items above it.
//!
//! Each item *allows* some importance below it: by its own prospects, and no more than the items above it allow. An item
//! below an abandoned one is abandoned. The kept items of each user are closed, so the item above a shared one is shared,
//! and the item above one that a user alone keeps is shared or that user's own. Page and proof:
//! `docs/algorithms/descent.md`.

use std::sync::atomic::{AtomicU16, Ordering};

use super::decisions::TrackedItem;
use super::lone_item::Alone;
use super::round::BlockRound;
use crate::rounds::decision::ItemState;
use crate::weighting::FULL_IMPORTANCE;

/// The lines of shared items, by slot.
#[derive(Debug)]
pub struct SharedLines {
    /// The slots that have one above them, with that one, from the top of the tree down.
    lines: Vec<(u32, u32)>,
    /// The importance that each slot allows below it.
    allowed: Vec<AtomicU16>,
}

impl SharedLines {
    /// Of so many slots. `lines` has slots with the slot above each, from the top of the tree down.
    #[must_use]
    pub fn new(slots: usize, lines: Vec<(u32, u32)>) -> Self {
        let full = || AtomicU16::new(FULL_IMPORTANCE);
        Self { lines, allowed: std::iter::repeat_with(full).take(slots).collect() }
    }

    /// The importance that a slot allows below it. 0: it is abandoned.
    #[inline]
    pub(super) fn allowed(&self, slot: usize) -> u16 {
        self.allowed[slot].load(Ordering::Relaxed)
    }

    /// Note what a slot allows by its own prospects.
    #[inline]
    pub(super) fn note(&self, slot: usize, allowed: u16) {
        self.allowed[slot].store(allowed, Ordering::Relaxed);
    }

    /// All slots are decided: no slot allows more than those above it, nor has more importance.
    pub(super) fn limit(&self, importances: &[AtomicU16]) {
        for (slot, above) in &self.lines {
            let (slot, limit) = (*slot as usize, self.allowed(*above as usize));
            self.note(slot, limit.min(self.allowed(slot)));
            importances[slot].fetch_min(limit, Ordering::Relaxed);
        }
    }
}

/// What stands above an item that one user alone keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rounds) enum Above {
    /// Nothing.
    Nothing,
    /// The shared item of this slot.
    Shared(u32),
    /// Another item of the block that its user alone keeps. It has a smaller place.
    Alone(u32),
    /// One that was abandoned and has left.
    Gone,
}

/// The lines of the items of a block that users alone keep.
#[derive(Debug)]
pub(super) struct LoneLines {
    above: Vec<[Above; 2]>,
    /// The importance that each item allows below it.
    allowed: Vec<u16>,
}

impl LoneLines {
    pub(super) fn new(above: Vec<[Above; 2]>) -> Self {
        let allowed = vec![FULL_IMPORTANCE; above.len()];
        Self { above, allowed }
    }

    /// Note what some items from a place on allow by their own prospects, after a round that is not the last.
    pub(super) fn note(&mut self, first: usize, known: &[Alone], round: &BlockRound) {
        for (known, allowed) in known.iter().zip(&mut self.allowed[first..]) {
            *allowed = round.scored.allowed_below(known.state(), known.sum());
        }
    }

    /// Before a round: no item allows more than those above it, nor has more importance.
    pub(super) fn limit(&mut self, known: &mut [Alone], shared: &SharedLines) {
        for (at, known) in known.iter_mut().enumerate() {
            if self.above[at] == [Above::Nothing; 2] {
                continue;
            }
            let limits = self.above[at].map(|above| match above {
                Above::Nothing => FULL_IMPORTANCE,
                Above::Shared(slot) => shared.allowed(slot as usize),
                Above::Alone(place) => self.allowed[place as usize],
                Above::Gone => 0,
            });
            let limit = limits[0].min(limits[1]);
            self.allowed[at] = limit.min(self.allowed[at]);
            known.set(limited(known.state(), limit));
        }
    }

    /// Keep the items for which this is true, in their order.
    pub(super) fn retain(&mut self, stays: impl Fn(usize) -> bool) {
        let mut places = vec![Above::Gone; self.above.len()];
        let mut left = 0;
        for at in (0..self.above.len()).filter(|at| stays(*at)) {
            places[at] = Above::Alone(dpsel_exact::numeric::widths::codes(left));
            self.above[left] = self.above[at].map(|above| match above {
                Above::Alone(place) => places[place as usize],
                there @ (Above::Nothing | Above::Shared(_) | Above::Gone) => there,
            });
            self.allowed[left] = self.allowed[at];
            left += 1;
        }
        self.above.truncate(left);
        self.allowed.truncate(left);
    }
}

/// The state of an item, where those above it allow so much.
#[inline]
pub(super) fn limited(state: ItemState, limit: u16) -> ItemState {
    if limit == 0 {
        ItemState::ABANDONED
    } else {
        ItemState { importance: state.importance.min(limit), ..state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(allowed: [u16; 3]) -> SharedLines {
        let lines = SharedLines::new(3, vec![(2, 0), (1, 2)]);
        allowed.iter().enumerate().for_each(|(slot, allowed)| lines.note(slot, *allowed));
        lines
    }

    #[test]
    fn no_shared_item_has_more_than_those_above_it_allow() {
        for (allowed, expected, importances) in [
            ([100, 256, 200], [100, 100, 100], [256, 100, 100]),
            ([256, 3, 7], [256, 3, 7], [256, 7, 256]),
            ([0, 256, 256], [0, 0, 0], [256, 0, 0]),
        ] {
            let lines = shared(allowed);
            let known = [(); 3].map(|()| AtomicU16::new(FULL_IMPORTANCE));
            lines.limit(&known);
            assert_eq!([0, 1, 2].map(|slot| lines.allowed(slot)), expected);
            assert_eq!(known.map(AtomicU16::into_inner), importances);
        }
    }

    #[test]
    fn items_of_one_user_are_limited_by_shared_ones_and_by_their_own() {
        let above = [Above::Shared(1), Above::Alone(0), Above::Nothing, Above::Alone(1), Above::Gone];
        let mut lines = LoneLines::new(above.map(|above| [above, Above::Nothing]).to_vec());
        lines.allowed = vec![200, 50, 256, 256, 256];
        let mut known = vec![Alone::new(); 5];
        lines.limit(&mut known, &shared([256, 9, 256]));
        assert_eq!(lines.allowed, [9, 9, 256, 9, 0]);
        let importances: Vec<u16> = known.iter().map(|known| known.state().importance).collect();
        assert_eq!(importances, [9, 9, 256, 9, 0]);
        assert!(known[4].is_abandoned());
    }

    #[test]
    fn what_is_below_an_item_that_left_knows_it() {
        let above = [
            [Above::Shared(1), Above::Nothing],
            [Above::Alone(0), Above::Nothing],
            [Above::Alone(1), Above::Alone(0)],
            [Above::Shared(3), Above::Alone(2)],
            [Above::Nothing; 2],
        ];
        let mut lines = LoneLines::new(above.to_vec());
        lines.retain(|at| at != 1);
        assert_eq!(
            lines.above,
            [above[0], [Above::Gone, Above::Alone(0)], [Above::Shared(3), Above::Alone(1)], above[4]]
        );
        assert_eq!(lines.allowed.len(), 4);
    }
}
