//! What is known of shared items beside their sums and importances.

use std::sync::atomic::Ordering;

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::Zeroize;

use super::bytes::{DAMAGED, PackBlock, ended, push, push_number, take, take_number};
use super::decisions::{Noises, TrackedItem};
use super::round::BlockRound;
use super::rows::LEAVE_AT;
use super::shared_table::SharedTable;
use super::sums::RANGE;
use crate::rounds::decision::{ItemState, checked_weight};
use crate::rounds::released::Released;

/// Items of a block at most: whole ranges.
pub const BLOCK_ITEMS: usize = if cfg!(any(test, feature = "testing")) { RANGE } else { 1 << 13 };
const _: () = assert!(BLOCK_ITEMS.is_multiple_of(RANGE) && BLOCK_ITEMS <= 1 << u16::BITS);
/// Items that are decided together.
const DECIDED: usize = 1 << 10;
/// Bytes of an item, and of its importance and sum.
pub(in crate::rounds) const BYTES: usize =
    size_of::<Digest>() + size_of::<u16>() + size_of::<History>() + size_of::<u16>() + size_of::<u64>();

/// The noise and exposure of an item: see [`ItemState`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct History {
    noise: zerocopy::native_endian::I64,
    exposure: u32,
}

/// All that is known of an item, while it is decided.
#[derive(Debug, Clone, Copy)]
struct SharedItem {
    weight: u64,
    state: ItemState,
}

impl TrackedItem for SharedItem {
    fn weight(&self) -> Result<u64> {
        checked_weight(self.weight)
    }

    fn state(&self) -> ItemState {
        self.state
    }

    fn set(&mut self, state: ItemState) {
        self.state = state;
    }
}

/// Shared items whose slots are close together.
#[derive(Debug, Default)]
pub struct ItemBlock {
    first: u32,
    /// The slot of each item, counted from the first one.
    places: Vec<u16>,
    digests: Vec<Digest>,
    histories: Vec<History>,
    is_shorter: bool,
}

impl ItemBlock {
    /// The items of the slots from this one on.
    #[must_use]
    pub fn new(first: usize, digests: Vec<Digest>) -> Self {
        let places = (0..).take(digests.len()).collect();
        Self { first: codes(first), places, digests, ..Self::default() }
    }

    /// Make room for what rounds make of them.
    pub fn begin(&mut self) {
        self.histories.clear();
        self.histories.resize(self.digests.len(), History::default());
    }

    /// Decide the items when all users have given. If more than a few are abandoned, these leave.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Capacity`] for more users than noise may be added for; [`dpsel_exact::Error::Internal`] for an item
    /// that is not there.
    pub(crate) fn run(
        &mut self,
        round: &BlockRound,
        shared: &SharedTable,
        released: &mut Vec<Released<u32>>,
    ) -> Result<()> {
        let (sums, first, lines) = (shared.sums(), self.first as usize, shared.lines());
        let end = self.places.last().map_or(first, |place| first + usize::from(*place) + 1);
        let importances = shared.by_range().as_flattened().get(first..).filter(|_| end <= sums.len());
        let importances = importances.ok_or(DAMAGED)?;
        let (mut known, mut noises, mut abandoned) = (Vec::new(), Noises::default(), 0);
        let parts = self.places.chunks(DECIDED).zip(self.digests.chunks(DECIDED));
        for ((places, digests), histories) in parts.zip(self.histories.chunks_mut(DECIDED)) {
            known.clear();
            known.extend(places.iter().zip(&*histories).map(|(place, history)| {
                let place = usize::from(*place);
                let importance = importances[place].load(Ordering::Relaxed);
                let (noise, exposure) = (history.noise.get(), history.exposure);
                let state = match lines {
                    Some(lines) if lines.allowed(first + place) == 0 => ItemState::ABANDONED,
                    Some(_) | None => ItemState { noise, exposure, importance },
                };
                SharedItem { weight: sums.weight(first + place), state }
            }));
            round.decide(digests, &mut known, &mut noises, |at, weight| {
                let item = self.first + u32::from(places[at]);
                released.push(Released { item, digest: digests[at], weight });
            })?;
            for ((place, SharedItem { state, weight }), history) in places.iter().zip(&known).zip(histories) {
                if let Some(lines) = lines {
                    let slot = first + usize::from(*place);
                    lines.note(slot, round.scored.allowed_below(*state, *weight));
                }
                *history = History { noise: state.noise.into(), exposure: state.exposure };
                importances[usize::from(*place)].store(state.importance, Ordering::Relaxed);
                abandoned += usize::from(state.is_abandoned());
            }
        }
        if abandoned * LEAVE_AT > self.places.len() && !round.is_last() {
            self.leave(importances);
        }
        Ok(())
    }

    /// Let the abandoned items leave: they have neither importance nor exposure.
    fn leave(&mut self, importances: &[std::sync::atomic::AtomicU16]) {
        let mut left = 0;
        for at in 0..self.places.len() {
            let (place, history) = (self.places[at], self.histories[at]);
            let importance = importances[usize::from(place)].load(Ordering::Relaxed);
            (self.places[left], self.digests[left], self.histories[left]) =
                (place, self.digests[at], history);
            left += usize::from(history.exposure | u32::from(importance) > 0);
        }
        self.places.truncate(left);
        self.digests.truncate(left);
        self.histories.truncate(left);
        self.is_shorter = true;
    }

    /// Overwrite what is known, also of items that left.
    pub fn wipe(&mut self) {
        self.digests.resize(self.digests.capacity(), Digest::default());
        self.digests.as_mut_slice().as_mut_bytes().zeroize();
        self.histories.resize(self.histories.capacity(), History::default());
        self.histories.as_mut_slice().as_mut_bytes().zeroize();
    }
}

impl PackBlock for ItemBlock {
    fn pack_fixed(&self, packed: &mut Vec<u8>) {
        push_number(self.first as usize, packed);
        push_number(self.digests.len(), packed);
        push(&self.digests, packed);
        push(&self.places, packed);
    }

    fn pack_changing(&self, packed: &mut Vec<u8>) {
        push(&self.histories, packed);
    }

    fn read(&mut self, mut fixed: &[u8], changing: Option<&[u8]>) -> Result<()> {
        let (first, len) = (take_number(&mut fixed)?, take_number(&mut fixed)?);
        (self.first, self.is_shorter) = (codes(first), false);
        take(&mut fixed, len, &mut self.digests)?;
        take(&mut fixed, len, &mut self.places)?;
        ended(fixed)?;
        let Some(mut changing) = changing else {
            self.begin();
            return Ok(());
        };
        take(&mut changing, len, &mut self.histories)?;
        if self.places.is_sorted() { ended(changing) } else { Err(DAMAGED) }
    }

    fn is_shorter(&self) -> bool {
        self.is_shorter
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_from_their_bytes_and_half_of_them_is_an_error() {
        let mut items = ItemBlock::new(RANGE, vec![Digest(7), Digest(u128::MAX), Digest(9)]);
        items.begin();
        items.histories[1] = History { noise: (-4).into(), exposure: 8 };
        let shared = SharedTable::new(3 * RANGE, (1, 0));
        shared.steer(&[0; 3 * RANGE]);
        items.histories[2].exposure = 1;
        items.leave(&shared.by_range().as_flattened()[RANGE..]);
        assert_eq!((&items.places[..], items.is_shorter()), (&[1, 2][..], true));
        let (mut fixed, mut changing, mut back) = (Vec::new(), Vec::new(), ItemBlock::default());
        items.pack_fixed(&mut fixed);
        items.pack_changing(&mut changing);
        back.read(&fixed, Some(&changing)).unwrap();
        assert_eq!((back.first, &back.places, &back.digests), (items.first, &items.places, &items.digests));
        assert_eq!((&back.histories, back.is_shorter()), (&items.histories, false));
        for len in 0..fixed.len() {
            assert!(back.read(&fixed[..len], Some(&changing)).is_err());
        }
        assert!(back.read(&fixed, Some(&changing[1..])).is_err());
        back.read(&fixed, None).unwrap();
        assert_eq!(back.histories, [History::default(); 2]);
    }
}
