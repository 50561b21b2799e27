//! Packed contributions of whole buckets come together, so that a stage sees every user with all of its items.

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{Contributions, ContributionsBuilder, RowOrder};
use dpsel_rows::ingest::ItemSchema;

use super::batcher::one_thread;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{BucketRuns, Dictionaries, bucketed_values, unpack};

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
    dictionaries: Dictionaries,
    order: RowOrder,
    /// Takes what was pushed since users were last handed out.
    builder: Option<ContributionsBuilder>,
    rows: usize,
    /// Rows taken together, if several buckets are needed for that. The more rows, the more users of an item meet
    /// in a task before anything moves.
    most: usize,
    runs: BucketRuns,
}

impl<T: OnUsers> Gather<T> {
    /// The items of each user are handed out in this order.
    pub(crate) fn new(stage: T, key: &ReleaseKey, order: RowOrder, most: usize) -> Self {
        let (dictionaries, runs) = (Dictionaries::new(key), BucketRuns::default());
        Self { stage, dictionaries, order, builder: None, rows: 0, most, runs }
    }

    /// Hand out all users so far.
    fn hand_out(&mut self) -> Result<Vec<RecordBatch>> {
        self.rows = 0;
        let Some(builder) = self.builder.take() else { return Ok(Vec::new()) };
        self.stage.run(without_names(builder, &self.order)?)
    }
}

impl<T: OnUsers> Stage for Gather<T> {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (bucket, packed) in bucketed_values(&batch)? {
            if self.runs.ended_by(bucket)?.is_some() && self.rows >= self.most {
                ready.extend(self.hand_out()?);
            }
            let builder = self.builder.get_or_insert_with(|| ContributionsBuilder::new(&one_thread()));
            self.rows += unpack(packed, &self.dictionaries, builder)?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.hand_out()
    }
}

/// Contributions whose items have digests and no names.
fn without_names(builder: ContributionsBuilder, order: &RowOrder) -> Result<Contributions> {
    builder.finish(ItemSchema::new([("item", &DataType::Null)])?, order)
}
