//! Where the batches of a stage go: to scratch, or together in memory.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;

use crate::Result;
use crate::exchange::{Decisions, Packed, Route, item_hash};
use crate::scratch::Writer;

/// What is done with the batches that a stage makes.
pub(super) trait Output {
    /// Take a batch.
    fn take(&mut self, batch: &RecordBatch) -> Result<()>;
    /// End after the last batch.
    fn end(self) -> Result<()>;
}

/// Puts batches into scratch, by route.
impl<L: Route> Output for Writer<'_, L> {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        L::values(batch)?.into_iter().try_for_each(|(route, packed)| self.push(route, packed))
    }

    fn end(mut self) -> Result<()> {
        self.flush()
    }
}

/// Puts packed values together in memory.
#[derive(Debug, Default)]
pub(super) struct Collected(Mutex<Vec<Packed>>);

impl Collected {
    /// All packed values.
    pub(super) fn packed(self) -> Packed {
        let pieces = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        pieces.iter().map(Packed::bytes).collect::<Vec<_>>().concat().into()
    }
}

impl Output for &Collected {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let more = Packed::gathered(std::slice::from_ref(batch))?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(more);
        Ok(())
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}

/// Keeps the hashes of items with several users, from their counts, unless they are too many.
#[derive(Debug)]
pub(super) struct OfSeveralUsers {
    most: usize,
    found: Mutex<Vec<(u32, u32)>>,
}

impl OfSeveralUsers {
    /// At most `most` hashes.
    pub(super) fn new(most: usize) -> Self {
        Self { most, found: Mutex::default() }
    }

    /// The hashes, once for each item that has several users, with their number; `None` if there are too many.
    pub(super) fn found(self) -> Option<Vec<(u32, u32)>> {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        (found.len() <= self.most).then_some(found)
    }
}

impl Output for &OfSeveralUsers {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let packed = Packed::gathered(std::slice::from_ref(batch))?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let room = (self.most + 1).saturating_sub(found.len());
        for (item, users) in Decisions::each(packed.bytes())?.filter(|(_, users)| *users > 1).take(room) {
            let users = u32::try_from(users).unwrap_or(u32::MAX); // Otherwise: as many as can be told.
            found.push((item_hash(item), users));
        }
        Ok(())
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}
