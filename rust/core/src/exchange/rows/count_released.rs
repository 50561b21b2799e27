//! Packed contributions become what users add to the numbers of users of released items, sent by partition of items.
//!
//! All items that a user holds are here, also those beyond its bound. So it has one norm for all that were released.

use arrow_array::RecordBatch;

use super::gather::OnUsers;
use crate::Result;
use crate::accounting::L0Bound;
use crate::contributions::Contributions;
use crate::counting::each_contribution;
use crate::exchange::wire::{Partitions, ReleasedSet, pack_by_partition};
use crate::numeric::widths::index;
use crate::random::Digest;

/// The stage that counts the users of released items, for numbers beside a selection.
#[derive(Debug)]
pub struct CountReleased {
    partitions: Partitions,
    counted: ReleasedSet,
    limit: L0Bound,
}

impl CountReleased {
    /// A user of more than `limit` items of `counted` adds less than 1 to each of them.
    pub(crate) fn new(partitions: Partitions, counted: ReleasedSet, limit: L0Bound) -> Self {
        Self { partitions, counted, limit }
    }
}

impl OnUsers for CountReleased {
    fn run(&self, _last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let vocabulary = &contributions.vocabulary;
        let digests = vocabulary.digests_from(0..vocabulary.code_bound());
        let is_counted: Vec<bool> = digests.iter().map(|item| self.counted.contains(*item)).collect();
        let mut sums = vec![0_u64; digests.len()];
        for (start, len) in contributions.starts.iter().zip(&contributions.lens) {
            let held = &contributions.items.as_slice()[*start..][..index((*len).into())];
            let place = |item: u32| Some(item as usize).filter(|code| is_counted[*code]);
            // At most 2^32 users of one unit each.
            each_contribution(held, place, self.limit, |code, each| {
                sums[code] = sums[code].saturating_add(each);
            });
        }
        let sums: Vec<(Digest, u64)> = digests.into_iter().zip(sums).filter(|(_, sum)| *sum > 0).collect();
        pack_by_partition(sums, self.partitions).into_batches()
    }
}
