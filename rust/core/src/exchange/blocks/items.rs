//! Items in scored rounds: what does not change of them, and what rounds made of them, in columns of their own.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::Zeroize;

use super::columns::{DAMAGED, read};
use super::parts::InParts;
use super::shared::{ABANDONED, SharedItems};
use crate::Result;
use crate::exchange::items::checked_weight;
use crate::exchange::wire::Decisions;
use crate::random::{Digest, Words};
use crate::rounds::{Decider, ItemState, Known, Noises, ScoredDecider};

/// What is known of an item that several users may hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Shared {
    weight: u64,
    noise: i64,
    exposure: u32,
    importance: u16,
    unused: u16,
}

impl Known for Shared {
    fn weight(&self) -> Result<u64> {
        checked_weight(self.weight)
    }

    fn state(&self) -> ItemState {
        ItemState { noise: self.noise, exposure: self.exposure, importance: self.importance }
    }

    fn set(&mut self, ItemState { noise, exposure, importance }: ItemState) {
        *self = Self { noise, exposure, importance, ..*self };
    }
}

/// Decide items, and append the released ones to packed decisions.
///
/// # Errors
/// [`crate::Error::Capacity`] for more users than noise may be added for; [`crate::Error::Internal`] for a round that is
/// not scored.
pub(super) fn decide<K: Known>(
    digests: &[Digest],
    known: &mut [K],
    (decider, words): &(Decider, Words),
    released: &mut Vec<u8>,
) -> Result<()> {
    let push = |place: usize, noisy| Decisions::push(digests[place], noisy, released);
    ScoredDecider::new(decider, words)?.decide(digests, known, &mut Noises::default(), push)
}

/// Items that several users may hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Items {
    digests: Vec<Digest>,
    known: Vec<Shared>,
}

impl Items {
    /// These items before the first round.
    pub(crate) fn new(digests: Vec<Digest>) -> Self {
        let mut items = Self { digests, known: Vec::new() };
        items.begin();
        items
    }

    fn begin(&mut self) {
        let mut first = Shared::default();
        first.set(ItemState::default());
        self.known.clear();
        self.known.resize(self.digests.len(), first);
    }

    pub(crate) fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// The importance of each item, or a number that says that it is abandoned.
    pub(crate) fn importances(&self) -> impl Iterator<Item = u16> + '_ {
        let importance =
            |known: &Shared| if known.state().is_abandoned() { ABANDONED } else { known.importance };
        self.known.iter().map(importance)
    }

    /// Add a weight of the current round to the item at a place.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if there is none.
    pub(crate) fn give(&mut self, at: usize, weight: u64) -> Result<()> {
        let known = self.known.get_mut(at).ok_or(DAMAGED)?;
        // Otherwise: the sum is too large, which `decide` refuses.
        known.weight = known.weight.saturating_add(weight);
        Ok(())
    }

    /// Decide all items, and append the released ones to packed decisions.
    ///
    /// # Errors
    /// [`crate::Error::Capacity`] for more users than noise may be added for.
    pub(crate) fn decide(&mut self, round: &(Decider, Words), released: &mut Vec<u8>) -> Result<()> {
        decide(&self.digests, &mut self.known, round, released)
    }

    /// Overwrite what is known.
    pub(crate) fn wipe(&mut self) {
        self.digests.as_mut_slice().as_mut_bytes().zeroize();
        self.known.as_mut_slice().as_mut_bytes().zeroize();
    }
}

/// Items of several users with their codes, as they stand on the disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CodedItems {
    codes: Vec<u32>,
    items: Items,
}

impl CodedItems {
    /// Items with these codes, before the first round.
    pub(crate) fn new(codes: Vec<u32>, digests: Vec<Digest>) -> Self {
        Self { codes, items: Items::new(digests) }
    }

    /// Decide the items when all users have given. Released ones are appended to packed decisions.
    ///
    /// # Errors
    /// [`crate::Error::Capacity`] for more users than noise may be added for; [`crate::Error::Internal`] for an item
    /// that is not there.
    pub(crate) fn run(
        &mut self,
        shared: &SharedItems,
        round: &(Decider, Words),
        released: &mut Vec<u8>,
    ) -> Result<()> {
        for (at, code) in self.codes.iter().enumerate() {
            self.items.give(at, shared.take_given(*code)?)?;
        }
        self.items.decide(round, released)?;
        self.codes
            .iter()
            .zip(self.items.importances())
            .try_for_each(|(code, importance)| shared.set(*code, importance))
    }
}

impl InParts for CodedItems {
    fn read_parts(&mut self, mut fixed: &[u8], changing: Option<&[u8]>) -> Result<()> {
        let len = fixed.len() / (size_of::<Digest>() + size_of::<u32>());
        read(&mut fixed, len, &mut self.items.digests)?;
        read(&mut fixed, len, &mut self.codes)?;
        if !fixed.is_empty() {
            return Err(DAMAGED);
        }
        let Some(mut changing) = changing else {
            self.items.begin();
            return Ok(());
        };
        read(&mut changing, len, &mut self.items.known)?;
        if changing.is_empty() { Ok(()) } else { Err(DAMAGED) }
    }

    fn pack_fixed(&self, packed: &mut Vec<u8>) {
        packed.extend_from_slice(self.items.digests.as_slice().as_bytes());
        packed.extend_from_slice(self.codes.as_slice().as_bytes());
    }

    fn pack_changing(&self, packed: &mut Vec<u8>) {
        packed.extend_from_slice(self.items.known.as_slice().as_bytes());
    }

    fn size(&self) -> (usize, usize) {
        (self.codes.len(), self.items.known.iter().filter(|known| known.state().is_abandoned()).count())
    }

    fn leave(&mut self, _shared: &SharedItems) {
        let mut left = 0;
        for at in 0..self.codes.len() {
            let known = self.items.known[at];
            if !known.state().is_abandoned() {
                self.codes[left] = self.codes[at];
                self.items.digests[left] = self.items.digests[at];
                self.items.known[left] = known;
                left += 1;
            }
        }
        self.codes.truncate(left);
        self.items.digests.truncate(left);
        self.items.known.truncate(left);
    }
}
