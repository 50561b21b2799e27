//! Where the batches of a stage go: to scratch, or together in memory.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_rows::scratch::Writer;

use crate::exchange::{Packed, bucketed_values};

/// What is done with the batches that a stage makes.
pub(in crate::disk) trait Output {
    /// Take a batch.
    fn take(&mut self, batch: &RecordBatch) -> Result<()>;
    /// End after the last batch.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Puts batches into scratch, by bucket.
impl Output for Writer<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        bucketed_values(batch)?.try_for_each(|(bucket, packed)| self.push(bucket, packed))
    }

    fn end(&mut self) -> Result<()> {
        self.flush()
    }
}

/// Puts packed values together in memory.
#[derive(Debug, Default)]
pub(in crate::disk) struct Gathered(Mutex<Vec<Packed>>);

impl Gathered {
    /// All packed values.
    pub(in crate::disk) fn packed(self) -> Packed {
        let pieces = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        pieces.iter().map(Packed::bytes).collect::<Vec<_>>().concat().into()
    }
}

impl Output for &Gathered {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let more = Packed::gathered(std::slice::from_ref(batch))?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(more);
        Ok(())
    }
}
