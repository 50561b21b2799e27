//! User counts are added up, and only the counts of frequent items are kept.
//!
//! Items with the same item hash are added up together, and a row that two tasks read may count twice. Both can only
//! make the counts larger, and they are upper bounds, so the released items stay the same.

use arrow_array::RecordBatch;
use dpsel_exact::Result;

use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    BucketRuns, add_up, bucketed_values, packed_batch, push_frequent, unpack_user_counts,
};

/// The stage that finds the frequent items: those with more than `frequent_above` users.
#[derive(Debug)]
pub struct FrequentItems {
    frequent_above: u32,
    /// Item hashes and user counts of the current bucket.
    counts: Vec<(u32, u32)>,
    runs: BucketRuns,
    packed: Vec<u8>,
}

impl FrequentItems {
    /// Items with more users than this are frequent.
    #[must_use]
    pub fn new(frequent_above: u32) -> Self {
        Self { frequent_above, counts: Vec::new(), runs: BucketRuns::default(), packed: Vec::new() }
    }

    fn end_bucket(&mut self) {
        add_up(&mut self.counts);
        for (hash, users) in self.counts.drain(..).filter(|(_, users)| *users > self.frequent_above) {
            push_frequent(hash, users, &mut self.packed);
        }
    }
}

impl Stage for FrequentItems {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (bucket, packed) in bucketed_values(&batch)? {
            if self.runs.ended_by(bucket)?.is_some() {
                self.end_bucket();
            }
            unpack_user_counts(packed, &mut self.counts)?;
        }
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.end_bucket();
        Ok(vec![packed_batch(&self.packed)?])
    }
}
