//! Packed contributions of whole partitions come together, so that a stage sees every user with all of its items.

use std::sync::Arc;

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{Contributions, RowOrder};

use super::sizes::Sizes;
use super::unpacker::Unpacker;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{PartitionRuns, partitioned_values};

/// The work of a stage on the users of some partitions.
pub trait OnUsers: Send {
    /// Take the users, and return the batches that are ready. `last` is the last of their partitions.
    ///
    /// # Errors
    /// Those of the stage.
    fn run(&self, last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>>;
}

/// A stage on users.
///
/// # Contract
/// All rows of a partition come one after the other in one task. So all contributions of a user are handed out
/// together.
#[derive(Debug)]
pub struct Gather<T> {
    stage: T,
    unpacker: Unpacker,
    rows: usize,
    /// Rows taken together, if several partitions are needed for that. The more rows, the more users of an item meet
    /// in a task before anything moves.
    most: usize,
    order: PartitionRuns,
}

impl<T: OnUsers> Gather<T> {
    pub(crate) fn new(stage: T, key: &ReleaseKey, sizes: Sizes) -> Self {
        Self {
            stage,
            unpacker: Unpacker::new(key),
            rows: 0,
            most: sizes.rows,
            order: PartitionRuns::default(),
        }
    }

    /// The items of each user are handed out in this order.
    pub(crate) fn in_order(self, order: Arc<RowOrder>) -> Self {
        Self { unpacker: self.unpacker.in_order(order), ..self }
    }

    /// Hand out all users so far.
    fn hand_out(&mut self, last: Option<i32>) -> Result<Vec<RecordBatch>> {
        self.rows = 0;
        match (self.unpacker.take()?, last) {
            (Some(contributions), Some(last)) => self.stage.run(last, contributions),
            (None, _) | (_, None) => Ok(Vec::new()),
        }
    }
}

impl<T: OnUsers> Stage for Gather<T> {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (partition, packed) in partitioned_values(&batch)? {
            let last = self.order.current();
            let enough = self.order.is_next(partition)? && self.rows >= self.most;
            if enough {
                ready.extend(self.hand_out(last)?);
            }
            self.rows += self.unpacker.push(packed)?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.hand_out(self.order.current())
    }
}
