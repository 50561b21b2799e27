//! The interface of every stage: batches in, batches out.

use arrow_array::RecordBatch;

use crate::Result;

/// One task of a stage. It takes the batches of its partition one after the other.
pub trait Stage: Send {
    /// Take a batch, and return the batches that are ready.
    ///
    /// # Errors
    /// Those of the stage.
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>>;

    /// Return the remaining batches; none come in after this call.
    ///
    /// # Errors
    /// Those of the stage.
    fn finish(&mut self) -> Result<Vec<RecordBatch>>;
}
