//! Packed contributions become numbers of users, added up in the task and sent by bucket of items.

use arrow_array::RecordBatch;
use dpsel_core::task::count;
use dpsel_exact::Result;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_rows::contributions::Contributions;

use super::batcher::one_thread;
use super::gather::OnUsers;
use crate::exchange::wire::{Buckets, ReleasedSet, pack_by_bucket};

/// The stage that counts the users of items.
#[derive(Debug)]
pub struct Count {
    pub(crate) key: ReleaseKey,
    pub(crate) buckets: Buckets,
    /// With a bound, users count for the items that they keep under it.
    pub(crate) bound: Option<L0Bound>,
    /// The items to count; `None` for all.
    pub(crate) wanted: Option<ReleasedSet>,
}

impl OnUsers for Count {
    fn run(&self, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let is_wanted = |item| self.wanted.as_ref().is_none_or(|wanted| wanted.contains(item));
        let filter: Option<&dyn Fn(Digest) -> bool> = self.wanted.is_some().then_some(&is_wanted);
        let (counts, vocabulary) = count(contributions, (self.bound, filter), &self.key, &one_thread())?;
        let digests = vocabulary.digests_from(0..vocabulary.code_bound());
        let counts = digests.into_iter().zip(counts.into_iter().map(i64::unsigned_abs));
        let counts: Vec<(Digest, u64)> =
            counts.filter(|(item, users)| *users > 0 && is_wanted(*item)).collect();
        pack_by_bucket(counts, self.buckets).into_batches()
    }
}
