//! Lines of descent: after each round the importance of an item is limited by the prospects of all items above it.
//!
//! Each item *allows* some importance below it: by its own prospects, and no more than the items above it allow. An item
//! below an abandoned one is abandoned. The kept items of each user are closed, so the item above a shared one is shared,
//! and the item above one that a user alone keeps is shared or that user's own. Page and proof:
//! `docs/algorithms/descent.md`.

use std::sync::atomic::{AtomicU16, Ordering};

use dpsel_exact::numeric::widths::codes;
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::Lineage;
use zeroize::Zeroize;

use super::bytes::{DAMAGED, push, push_number, take, take_number};
use super::decisions::TrackedItem;
use super::lone_item::Alone;
use super::round::BlockRound;
use crate::rounds::decision::ItemState;
use crate::weighting::FULL_IMPORTANCE;

pub(in crate::rounds) const NOT_CLOSED: Error =
    Error::Internal("a user keeps an item without those above it");

/// The lines of shared items, by slot.
#[derive(Debug)]
pub struct SharedLines {
    /// The slots that have one above them, with that one, from the top of the tree down.
    lines: Vec<(u32, u32)>,
    /// The importance that each slot allows below it.
    allowed: Vec<AtomicU16>,
}

impl SharedLines {
    /// Of so many slots. `lines` has slots with the slot above each, in any order.
    #[must_use]
    pub fn new(slots: usize, mut lines: Vec<(u32, u32)>) -> Self {
        let mut levels = vec![0_u8; slots];
        let mut moves = true;
        while std::mem::take(&mut moves) {
            for (slot, above) in &lines {
                let lower = levels[*above as usize].saturating_add(1);
                moves |= levels[*slot as usize] < lower;
                levels[*slot as usize] = levels[*slot as usize].max(lower);
            }
        }
        lines.sort_by_key(|(slot, _)| levels[*slot as usize]);
        Self { lines, ..Self::with(vec![FULL_IMPORTANCE; slots]) }
    }

    /// Of slots that allow so much below them, where nobody is decided.
    #[must_use]
    pub fn with(allowed: Vec<u16>) -> Self {
        Self { lines: Vec::new(), allowed: allowed.into_iter().map(AtomicU16::new).collect() }
    }

    /// The importance that each slot allows below it.
    pub fn each_allowed(&self) -> impl Iterator<Item = u16> {
        self.allowed.iter().map(|allowed| allowed.load(Ordering::Relaxed))
    }

    /// Overwrite what is known.
    pub(super) fn wipe(&mut self) {
        self.allowed.iter_mut().for_each(|allowed| allowed.get_mut().zeroize());
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
    ///
    /// # Contract
    /// Shared items above are [below](Self::are_below) the number of slots.
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
            places[at] = Above::Alone(codes(left));
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

    /// Whether all shared items above these have slots below this one.
    pub(super) fn are_below(&self, slots: usize) -> bool {
        let is_below = |above: &Above| !matches!(above, Above::Shared(slot) if *slot as usize >= slots);
        self.above.as_flattened().iter().all(is_below)
    }

    /// Give other slots to the shared items above: `slots` has one for each slot so far.
    ///
    /// # Errors
    /// [`Error::Internal`] for an item without a slot.
    pub(super) fn renumber(&mut self, slots: &[u32]) -> Result<()> {
        for above in self.above.as_flattened_mut() {
            if let Above::Shared(slot) = above {
                *slot = *slots.get(*slot as usize).ok_or(DAMAGED)?;
            }
        }
        Ok(())
    }

    /// Append what stands above each, behind the number of items.
    pub(super) fn pack_fixed(lines: Option<&Self>, packed: &mut Vec<u8>) {
        let above = lines.map_or(&[][..], |lines| &lines.above);
        push_number(above.len(), packed);
        push(&above.iter().map(|above| above.map(Above::number)).collect::<Vec<_>>(), packed);
    }

    /// Append what changes in every round.
    pub(super) fn pack_changing(&self, packed: &mut Vec<u8>) {
        push(&self.allowed, packed);
    }

    /// Read what [`LoneLines::pack_fixed`] wrote of so many items.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged.
    pub(super) fn read_fixed(rest: &mut &[u8], items: usize) -> Result<Option<Self>> {
        let (len, mut numbers) = (take_number(rest)?, Vec::<[u32; 2]>::new());
        take(rest, len, &mut numbers)?;
        let above: Vec<_> = numbers.into_iter().map(|numbers| numbers.map(Above::of)).collect();
        let is_lower = |(at, above): (usize, &[Above; 2])| {
            above.iter().all(|above| !matches!(above, Above::Alone(place) if *place as usize >= at))
        };
        match len {
            0 => Ok(None),
            _ if len == items && above.iter().enumerate().all(is_lower) => Ok(Some(Self::new(above))),
            _ => Err(DAMAGED),
        }
    }

    /// Read what [`LoneLines::pack_changing`] wrote.
    ///
    /// # Errors
    /// As there.
    pub(super) fn read_changing(&mut self, rest: &mut &[u8]) -> Result<()> {
        take(rest, self.above.len(), &mut self.allowed)?;
        if self.allowed.iter().all(|allowed| *allowed <= FULL_IMPORTANCE) { Ok(()) } else { Err(DAMAGED) }
    }
}

impl Above {
    const NOTHING: u32 = u32::MAX;
    const GONE: u32 = u32::MAX - 1;
    /// The bit of the number of an item that a user alone keeps. Slots are below it.
    const ALONE: u32 = 1 << 31;

    /// The number that stands for it in packed blocks.
    fn number(self) -> u32 {
        match self {
            Self::Nothing => Self::NOTHING,
            Self::Gone => Self::GONE,
            Self::Shared(slot) => slot,
            Self::Alone(place) => Self::ALONE | place,
        }
    }

    /// What a number stands for.
    fn of(number: u32) -> Self {
        match number {
            Self::NOTHING => Self::Nothing,
            Self::GONE => Self::Gone,
            slot if slot < Self::ALONE => Self::Shared(slot),
            place => Self::Alone(place ^ Self::ALONE),
        }
    }
}

/// Put the items that a user alone keeps in order from the top of the tree down, and append what stands above each. They
/// stand in their block from the place `first` on. `slot_of` has the slots of shared items.
///
/// # Errors
/// [`Error::Internal`] if an item is missing that stands above one of them.
pub(in crate::rounds) fn push_alone(
    items: &mut [u32],
    first: usize,
    lineage: &Lineage,
    mut slot_of: impl FnMut(u32) -> Option<u32>,
    lines: &mut Vec<[Above; 2]>,
) -> Result<()> {
    let order = |item: &u32| (lineage.level(*item), *item);
    items.sort_unstable_by_key(order);
    let place = |above: u32| items.binary_search_by_key(&order(&above), order).map_err(|_| NOT_CLOSED);
    for item in &*items {
        let mut above = [Above::Nothing; 2];
        for (found, above) in above.iter_mut().zip(lineage.above(*item)) {
            *found = match slot_of(above) {
                Some(slot) => Above::Shared(slot),
                None => Above::Alone(codes(first + place(above)?)),
            };
        }
        lines.push(above);
    }
    Ok(())
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
    fn lines_come_back_from_their_bytes_and_damaged_ones_are_refused() {
        let above =
            vec![[Above::Gone, Above::Nothing], [Above::Alone(0), Above::Shared(7)], [Above::Nothing; 2]];
        let (mut lines, mut fixed, mut changing) = (LoneLines::new(above), Vec::new(), Vec::new());
        lines.allowed = vec![3, 256, 0];
        LoneLines::pack_fixed(Some(&lines), &mut fixed);
        lines.pack_changing(&mut changing);
        let mut back = LoneLines::read_fixed(&mut fixed.as_slice(), 3).unwrap().unwrap();
        back.read_changing(&mut changing.as_slice()).unwrap();
        assert_eq!((&back.above, &back.allowed), (&lines.above, &lines.allowed));
        assert!(LoneLines::read_fixed(&mut fixed.as_slice(), 2).is_err());
        lines.above[0][1] = Above::Alone(0);
        lines.allowed[1] = 257;
        (fixed, changing) = (Vec::new(), Vec::new());
        LoneLines::pack_fixed(Some(&lines), &mut fixed);
        lines.pack_changing(&mut changing);
        assert!(LoneLines::read_fixed(&mut fixed.as_slice(), 3).is_err());
        assert!(back.read_changing(&mut changing.as_slice()).is_err());
        fixed.clear();
        LoneLines::pack_fixed(None, &mut fixed);
        assert!(LoneLines::read_fixed(&mut fixed.as_slice(), 3).unwrap().is_none());
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
