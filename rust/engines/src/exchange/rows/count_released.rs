//! Packed contributions become what users add to the numbers of released items, sent by bucket of items.
//!
//! All items that a user holds are here, also those beyond its bound. So it has one norm for all that were released.

use arrow_array::RecordBatch;
use dpsel_core::counting::CountLimit;
use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use dpsel_rows::contributions::Contributions;

use super::gather::OnUsers;
use crate::exchange::wire::{Buckets, ReleasedSet, pack_by_bucket};

/// The stage that counts the users or rows of released items, for numbers beside a selection.
#[derive(Debug)]
pub struct CountReleased {
    pub(crate) buckets: Buckets,
    /// The items to count.
    pub(crate) counted: ReleasedSet,
    pub(crate) limit: CountLimit,
}

impl OnUsers for CountReleased {
    fn run(&self, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let vocabulary = &contributions.vocabulary;
        let digests = vocabulary.digests_from(0..vocabulary.code_bound());
        let is_counted: Vec<bool> = digests.iter().map(|item| self.counted.contains(*item)).collect();
        let mut sums = vec![0_u64; digests.len()];
        for held in contributions.items_by_user() {
            // Rows of one item stand side by side.
            let of_item = held.chunk_by(|a, b| a == b).map(|rows| (rows[0] as usize, rows.len()));
            let counted = of_item.filter(|(code, _)| is_counted[*code]);
            let counted = counted.map(|(code, rows)| (code, self.limit.rows(rows)));
            self.limit.each_addition(counted, |code, more| sums[code] = sums[code].saturating_add(more));
        }
        let sums: Vec<(Digest, u64)> = digests.into_iter().zip(sums).filter(|(_, sum)| *sum > 0).collect();
        pack_by_bucket(sums, self.buckets).into_batches()
    }
}
