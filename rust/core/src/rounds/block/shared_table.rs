//! What is in memory of shared items on every engine, by slot.

use std::sync::atomic::{AtomicU16, Ordering};

use dpsel_exact::Result;
use zeroize::Zeroize;

use super::bytes::{DAMAGED, ended, push, push_number, take, take_number};
use super::descent::SharedLines;
use super::sums::{RANGE, SlotSums, THREAD_SLOTS};
use crate::weighting::FULL_IMPORTANCE;

/// The most shared items.
pub const MOST_SHARED: usize = 1 << 31;

/// The importance of each shared item, and the sum of its weights.
#[derive(Debug)]
pub struct SharedTable {
    /// By range of slots; the last one is filled up.
    importances: Vec<[AtomicU16; RANGE]>,
    sums: SlotSums,
    /// Where items stand above others.
    lines: Option<SharedLines>,
}

impl SharedTable {
    /// So many items before the first round. With many slots, threads add up small sums for the first ones, together about
    /// `first`.
    #[must_use]
    pub fn new(slots: usize, (threads, first): (usize, usize)) -> Self {
        let full = || std::array::from_fn(|_| AtomicU16::new(FULL_IMPORTANCE));
        let importances = std::iter::repeat_with(full).take(slots.div_ceil(RANGE)).collect();
        Self { importances, sums: SlotSums::new(slots, (threads, first)), lines: None }
    }

    /// The same, where items stand above others.
    #[must_use]
    pub fn with_lines(self, lines: Option<SharedLines>) -> Self {
        Self { lines, ..self }
    }

    /// Which items stand above others, if some do.
    pub(super) fn lines(&self) -> Option<&SharedLines> {
        self.lines.as_ref()
    }

    /// All items are decided: those above limit those below.
    pub(super) fn limit(&self) {
        if let Some(lines) = &self.lines {
            lines.limit(self.importances.as_flattened());
        }
    }

    /// As many items as there are importances, for one thread. Nobody has given to them.
    #[must_use]
    pub fn with(importances: &[u16]) -> Self {
        let shared = Self::new(importances.len(), (1, THREAD_SLOTS));
        shared.steer(importances);
        shared
    }

    /// What users need to know of shared items in a round, as bytes: their number, whether items stand above others, the
    /// importance of each and, if so, what it allows below it.
    #[must_use]
    pub fn pack_states(&self) -> Vec<u8> {
        let (mut packed, importances) = (Vec::new(), self.importances().collect::<Vec<_>>());
        push_number(importances.len(), &mut packed);
        push_number(self.lines.iter().count(), &mut packed);
        push(&importances, &mut packed);
        let allowed = self.lines.iter().flat_map(SharedLines::each_allowed);
        push(&allowed.collect::<Vec<_>>(), &mut packed);
        packed
    }

    /// Read what [`SharedTable::pack_states`] wrote, for one thread. Nobody has given to the items.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] if it is damaged.
    pub fn with_states(mut packed: &[u8]) -> Result<Self> {
        let (slots, lines) = (take_number(&mut packed)?, take_number(&mut packed)?);
        let [mut importances, mut allowed] = [Vec::<u16>::new(), Vec::new()];
        take(&mut packed, slots, &mut importances)?;
        take(&mut packed, if lines == 1 { slots } else { 0 }, &mut allowed)?;
        ended(packed)?;
        if lines > 1 || importances.iter().chain(&allowed).any(|importance| *importance > FULL_IMPORTANCE) {
            return Err(DAMAGED);
        }
        let shared = Self::new(slots, (1, THREAD_SLOTS));
        shared.steer(&importances);
        Ok(shared.with_lines((lines == 1).then(|| SharedLines::with(allowed))))
    }

    /// Replace the importances.
    pub(in crate::rounds) fn steer(&self, importances: &[u16]) {
        for (known, importance) in self.importances.as_flattened().iter().zip(importances) {
            known.store(*importance, Ordering::Relaxed);
        }
    }

    /// The importance of each item.
    pub fn importances(&self) -> impl Iterator<Item = u16> {
        let known = self.importances.as_flattened().iter().take(self.sums.len());
        known.map(|importance| importance.load(Ordering::Relaxed))
    }

    /// How many items there are.
    pub(super) fn number(&self) -> usize {
        self.sums.len()
    }

    /// The importances by range.
    pub(super) fn by_range(&self) -> &[[AtomicU16; RANGE]] {
        &self.importances
    }

    pub(super) fn sums(&self) -> &SlotSums {
        &self.sums
    }

    /// The sum of all weights of each item.
    pub fn weights(&self) -> impl Iterator<Item = u64> {
        (0..self.sums.len()).map(|slot| self.sums.weight(slot))
    }

    /// Add a weight.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] for an item that is not there.
    pub fn add(&mut self, slot: usize, weight: u64) -> Result<()> {
        self.sums.add(slot, weight).ok_or(DAMAGED)
    }

    /// Users have given: add up what each thread has.
    pub fn add_up(&mut self) {
        self.sums.merge();
    }

    /// Overwrite what is known.
    pub fn wipe(&mut self) {
        self.importances.as_flattened_mut().iter_mut().for_each(|importance| importance.get_mut().zeroize());
        self.lines.iter_mut().for_each(SharedLines::wipe);
        self.sums.wipe();
    }
}
