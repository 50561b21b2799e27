//! All weights or users of an item come together and are added up, one bucket of items after the other.

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use num_traits::SaturatingAdd;

use crate::exchange::stage::Stage;
use crate::exchange::wire::{BucketRuns, VALUE_BYTES, add_up, bucketed_values, packed_batch, unpack_weights};

/// The work of a stage on the items of a bucket.
pub trait OnItems<K = Digest, N = u64>: Send {
    /// Take all items of a bucket with their sums, in order of their digests or hashes, and append finished values to
    /// `packed`. A sum stays at the largest number.
    ///
    /// # Errors
    /// Those of the stage.
    fn run(&mut self, items: &[(K, N)], packed: &mut Vec<u8>) -> Result<()>;

    /// Append the values that were held back until the end.
    fn finish(&mut self, _packed: &mut Vec<u8>) {}
}

/// Appends the keys and numbers of a packed value.
type Unpack<K, N> = fn(&[u8], &mut Vec<(K, N)>) -> Result<()>;

/// A stage on items.
///
/// # Contract
/// All weights of a bucket come one after the other in one task. So each item is seen once, with its whole weight.
#[derive(Debug)]
pub struct Sum<T, K = Digest, N = u64> {
    stage: T,
    unpack: Unpack<K, N>,
    sums: Vec<(K, N)>,
    runs: BucketRuns,
    packed: Vec<u8>,
}

impl<T: OnItems> Sum<T> {
    /// One task of the stage.
    #[must_use]
    pub fn new(stage: T) -> Self {
        Self::of(stage, unpack_weights)
    }
}

impl<T: OnItems<K, N>, K: Ord + Copy, N: SaturatingAdd> Sum<T, K, N> {
    /// One task of a stage on what `unpack` appends of a packed value.
    pub(super) fn of(stage: T, unpack: Unpack<K, N>) -> Self {
        Self { stage, unpack, sums: Vec::new(), runs: BucketRuns::default(), packed: Vec::new() }
    }

    /// Hand out all items of the bucket that has ended.
    fn end_bucket(&mut self) -> Result<()> {
        add_up(&mut self.sums);
        self.stage.run(&self.sums, &mut self.packed)?;
        self.sums.clear();
        Ok(())
    }

    /// The packed bytes as a batch, if there are more than `limit`.
    fn ready(&mut self, limit: usize) -> Result<Vec<RecordBatch>> {
        if self.packed.len() <= limit {
            return Ok(Vec::new());
        }
        Ok(vec![packed_batch(&std::mem::take(&mut self.packed))?])
    }
}

impl<T: OnItems<K, N>, K: Ord + Copy + Send, N: SaturatingAdd + Send> Stage for Sum<T, K, N> {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (bucket, packed) in bucketed_values(&batch)? {
            if self.runs.ended_by(bucket)?.is_some() {
                self.end_bucket()?;
            }
            (self.unpack)(packed, &mut self.sums)?;
        }
        self.ready(VALUE_BYTES)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.end_bucket()?;
        self.stage.finish(&mut self.packed);
        self.ready(0)
    }
}
