//! Packed contributions of whole buckets come together, so that a stage sees every user with all of its items.

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{Contributions, RowOrder};

use super::unpacker::Unpacker;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{BucketRuns, bucketed_values};

/// The work of a stage on the users of some buckets.
pub trait OnUsers: Send {
    /// Take the users, and return the batches that are ready.
    ///
    /// # Errors
    /// Those of the stage.
    fn run(&self, contributions: Contributions) -> Result<Vec<RecordBatch>>;
}

/// A stage on users.
///
/// # Contract
/// All rows of a bucket come one after the other in one task. So all contributions of a user are handed out
/// together.
#[derive(Debug)]
pub struct Gather<T> {
    stage: T,
    unpacker: Unpacker,
    rows: usize,
    /// Rows taken together, if several buckets are needed for that. The more rows, the more users of an item meet
    /// in a task before anything moves.
    most: usize,
    runs: BucketRuns,
}

impl<T: OnUsers> Gather<T> {
    /// The items of each user are handed out in this order.
    pub(crate) fn new(stage: T, key: &ReleaseKey, order: RowOrder, most: usize) -> Self {
        Self { stage, unpacker: Unpacker::new(key, order), rows: 0, most, runs: BucketRuns::default() }
    }

    /// Hand out all users so far.
    fn hand_out(&mut self) -> Result<Vec<RecordBatch>> {
        self.rows = 0;
        self.unpacker.take()?.map_or(Ok(Vec::new()), |contributions| self.stage.run(contributions))
    }
}

impl<T: OnUsers> Stage for Gather<T> {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (bucket, packed) in bucketed_values(&batch)? {
            if self.runs.ended_by(bucket)?.is_some() && self.rows >= self.most {
                ready.extend(self.hand_out()?);
            }
            self.rows += self.unpacker.push(packed)?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.hand_out()
    }
}
