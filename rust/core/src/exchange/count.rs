//! Packed contributions become numbers of users, added up within the task and routed by item.

use arrow_array::RecordBatch;

use super::Stage;
use super::gather::Gather;
use super::known::Known;
use super::plan::{Plan, control};
use super::routing::{Routes, unrouted};
use super::weigh::pack;
use crate::Result;
use crate::accounting::L0Bound;
use crate::contributions::Contributions;
use crate::random::Digest;
use crate::task::Counted;

/// See the module.
#[derive(Debug)]
pub struct Count {
    plan: Plan,
    item_routes: Routes,
    bound: Option<L0Bound>,
    /// The items that are counted; none for all.
    wanted: Option<Known>,
    gathered: Gather,
}

impl Count {
    pub(super) fn new(
        plan: Plan,
        item_routes: Routes,
        bound: Option<L0Bound>,
        wanted: Option<Known>,
    ) -> Self {
        let gathered = Gather::new(&plan);
        Self { plan, item_routes, bound, wanted, gathered }
    }

    fn count(&self, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let is_wanted = |item| self.wanted.as_ref().is_none_or(|wanted| wanted.contains(item));
        let filter: Option<&dyn Fn(Digest) -> bool> = self.wanted.is_some().then_some(&is_wanted);
        let Counted { counts, vocabulary } =
            Counted::new(contributions, self.bound, filter, self.plan.key(), &control())?;
        let digests = vocabulary.digests_from(0..vocabulary.code_bound());
        let counts = digests.into_iter().zip(counts.into_iter().map(i64::unsigned_abs));
        let counts: Vec<(Digest, u64)> =
            counts.filter(|(item, users)| *users > 0 && is_wanted(*item)).collect();
        pack(counts, self.item_routes).into_batches()
    }
}

impl Stage for Count {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (route, packed) in unrouted(&batch)? {
            if let Some((_, contributions)) = self.gathered.push(route, packed)? {
                ready.extend(self.count(contributions)?);
            }
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.gathered.finish()?.map_or(Ok(Vec::new()), |(_, contributions)| self.count(contributions))
    }
}
