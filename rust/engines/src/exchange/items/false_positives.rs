//! The false positives of a filter of released items: items of the table that pass it and were not released.
//!
//! The released items come from the driver with weight 1, the items of the table that pass come with weight 0. So an
//! item whose weights add up to 0 is a false positive.

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use super::sum::OnItems;
use crate::exchange::wire::{Buckets, Decisions, pack_by_bucket};

/// Send packed decisions to the buckets of their items, with weight 1.
///
/// # Errors
/// A number of buckets out of range; damaged decisions.
pub fn bucket_decisions(buckets: u32, items: &[u8]) -> Result<Vec<RecordBatch>> {
    let items = Decisions::each(items)?.map(|(item, _)| (item, 1));
    pack_by_bucket(items.collect(), Buckets::new(buckets)?).into_batches()
}

/// The stage that finds the false positives, among what [`bucket_decisions`] and
/// [`FilterCandidates`](crate::exchange::FilterCandidates) send.
#[derive(Debug)]
pub struct FalsePositives;

impl OnItems for FalsePositives {
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        let false_positives = items.iter().filter(|(_, weight)| *weight == 0);
        false_positives.for_each(|(item, _)| packed.extend(item.0.to_le_bytes()));
        Ok(())
    }
}
