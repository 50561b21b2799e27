//! What is in memory of items that several users may hold.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use super::columns::DAMAGED;
use crate::Result;
use crate::weighting::FULL_IMPORTANCE;

/// The importance of an abandoned item in memory. No other has it.
pub(super) const ABANDONED: u16 = u16::MAX;
const _: () = assert!(FULL_IMPORTANCE < ABANDONED);

/// The most shared items, so that a bit of a code stays free.
pub(crate) const MOST_SHARED: usize = 1 << 31;

/// On the disk, shared items with smaller codes have the most users. Each thread adds up what users give to them, and no
/// thread waits for another.
const OFTEN: usize = 1 << 15;

/// What is in memory of the items that several users may hold, by their codes.
#[derive(Debug)]
pub(crate) struct SharedItems {
    importances: Vec<AtomicU16>,
    /// What users give in the current round.
    given: Vec<AtomicU64>,
}

impl SharedItems {
    /// So many items before the first round.
    pub(crate) fn new(items: usize) -> Self {
        Self::with((0..items).map(|_| FULL_IMPORTANCE))
    }

    /// The items of these importances, one for each code, of which nobody has given yet.
    pub(crate) fn with(importances: impl IntoIterator<Item = u16>) -> Self {
        let importances: Vec<AtomicU16> = importances.into_iter().map(AtomicU16::new).collect();
        Self { given: importances.iter().map(|_| AtomicU64::new(0)).collect(), importances }
    }

    /// What users gave to each item in the current round.
    pub(crate) fn given(&self) -> impl Iterator<Item = u64> {
        self.given.iter().map(|given| given.load(Ordering::Relaxed))
    }

    /// Look up the importance of each of these items. Abandoned items have none; their number is returned.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] for an item that is not there.
    pub(super) fn look_up(&self, codes: &[u32], importances: &mut Vec<u16>) -> Result<usize> {
        importances.clear();
        importances.reserve(codes.len());
        let mut abandoned = 0;
        for code in codes {
            let importance = self.importances.get(*code as usize).ok_or(DAMAGED)?.load(Ordering::Relaxed);
            abandoned += usize::from(importance == ABANDONED);
            importances.push(if importance == ABANDONED { 0 } else { importance });
        }
        Ok(abandoned)
    }

    /// Whether an item is abandoned.
    pub(super) fn is_abandoned(&self, code: u32) -> bool {
        self.importances.get(code as usize).is_none_or(|known| known.load(Ordering::Relaxed) == ABANDONED)
    }

    /// Add what users give to items, which are there. No other thread has them, so no addition need be atomic: of plain
    /// ones the processor overlaps many.
    pub(super) fn add_alone(&mut self, given: impl Iterator<Item = (u32, u32)>) {
        for (code, weight) in given {
            let sum = self.given[code as usize].get_mut();
            *sum = sum.saturating_add(weight.into());
        }
    }

    /// The same while other threads do so, too. `often` keeps the sums of those that have many users.
    pub(super) fn add(&self, given: impl Iterator<Item = (u32, u32)>, often: &mut Vec<u64>) {
        often.resize(self.given.len().min(OFTEN), 0);
        for (code, weight) in given {
            let weight = u64::from(weight);
            if let Some(sum) = often.get_mut(code as usize) {
                *sum = sum.saturating_add(weight);
            } else if weight > 0 {
                self.given[code as usize].fetch_add(weight, Ordering::Relaxed);
            }
        }
    }

    /// Add what a thread kept of items that have many users.
    pub(super) fn add_often(&self, often: &mut [u64]) {
        for (given, often) in self.given.iter().zip(often) {
            given.fetch_add(std::mem::take(often), Ordering::Relaxed);
        }
    }

    /// What users gave to an item in the current round, which is over.
    pub(super) fn take_given(&self, code: u32) -> Result<u64> {
        let given = self.given.get(code as usize).ok_or(DAMAGED)?;
        Ok(given.swap(0, Ordering::Relaxed))
    }

    /// Set the importance of an item for the next round.
    pub(super) fn set(&self, code: u32, importance: u16) -> Result<()> {
        self.importances.get(code as usize).ok_or(DAMAGED)?.store(importance, Ordering::Relaxed);
        Ok(())
    }
}
