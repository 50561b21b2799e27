//! All weights of an item come together and are added up, one partition of items after the other.

use arrow_array::RecordBatch;
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use crate::exchange::stage::Stage;
use crate::exchange::wire::{PartitionRuns, VALUE_BYTES, packed_batch, partitioned_values, unpack_weights};
use crate::rounds::checked_weight;

/// The work of a stage on the items of a partition.
pub trait OnItems: Send {
    /// Add up what came together for one item.
    ///
    /// # Errors
    /// [`Error::Capacity`] for weights to which no noise may be added.
    fn sum(parts: impl Iterator<Item = u64>) -> Result<u64>
    where
        Self: Sized,
    {
        sum(parts)
    }

    /// Take all items of a partition with their sums, in order of their digests, and append finished values to
    /// `packed`.
    ///
    /// # Errors
    /// Those of the stage.
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()>;

    /// Append the values that were held back until the end.
    fn finish(&mut self, _packed: &mut Vec<u8>) {}
}

/// A stage on items.
///
/// # Contract
/// All weights of a partition come one after the other in one task. So each item is seen once, with its whole weight.
#[derive(Debug)]
pub struct Sum<T> {
    stage: T,
    weights: Vec<(Digest, u64)>,
    order: PartitionRuns,
    packed: Vec<u8>,
}

impl<T: OnItems> Sum<T> {
    pub(crate) fn new(stage: T) -> Self {
        Self { stage, weights: Vec::new(), order: PartitionRuns::default(), packed: Vec::new() }
    }

    /// Hand out all items of the partition that has ended.
    fn end_partition(&mut self) -> Result<()> {
        let mut items = Vec::new();
        sum_up::<T>(&mut self.weights, &mut items)?;
        self.weights.clear();
        self.stage.run(&items, &mut self.packed)
    }

    /// The packed bytes as a batch, if there are more than `limit`.
    fn ready(&mut self, limit: usize) -> Result<Vec<RecordBatch>> {
        if self.packed.len() <= limit {
            return Ok(Vec::new());
        }
        Ok(vec![packed_batch(&std::mem::take(&mut self.packed))?])
    }
}

/// Each item with the sum of its weights, in order of their digests. They go to `sums`, whose memory does not move while
/// they do.
///
/// # Errors
/// [`Error::Capacity`] for weights to which no noise may be added.
pub(crate) fn sum_up<T: OnItems>(weights: &mut [(Digest, u64)], sums: &mut Vec<(Digest, u64)>) -> Result<()> {
    weights.sort_unstable_by_key(|(item, _)| *item);
    sums.clear();
    sums.reserve(weights.len());
    for parts in weights.chunk_by(|a, b| a.0 == b.0) {
        sums.push(whole::<T>(parts)?);
    }
    Ok(())
}

/// An item and the sum of its weights.
fn whole<T: OnItems>(parts: &[(Digest, u64)]) -> Result<(Digest, u64)> {
    let (Some((item, _)), sum) = (parts.first(), T::sum(parts.iter().map(|(_, weight)| *weight))?) else {
        return Err(Error::Internal("an item without parts"));
    };
    Ok((*item, sum))
}

/// Add up the weights of one item.
///
/// # Errors
/// As [`checked_weight`].
pub(super) fn sum(mut parts: impl Iterator<Item = u64>) -> Result<u64> {
    // Otherwise: too large in any case.
    checked_weight(parts.try_fold(0_u64, u64::checked_add).unwrap_or(u64::MAX))
}

impl<T: OnItems> Stage for Sum<T> {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (partition, packed) in partitioned_values(&batch)? {
            if self.order.is_next(partition)? {
                self.end_partition()?;
            }
            unpack_weights(packed, &mut self.weights)?;
        }
        self.ready(VALUE_BYTES)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.end_partition()?;
        self.stage.finish(&mut self.packed);
        self.ready(0)
    }
}
