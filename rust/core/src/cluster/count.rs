//! Packed contributions become numbers of users, added up within the task and routed by item.

use arrow_array::RecordBatch;

use super::Stage;
use super::dictionary::Dictionaries;
use super::known::Known;
use super::packing::unpack;
use super::plan::{Plan, control, nameless_builder, no_names};
use super::routing::{InOrder, Routes, unrouted};
use super::weigh::pack;
use crate::Result;
use crate::accounting::L0Bound;
use crate::contributions::{ContributionsBuilder, ItemOrder};
use crate::random::Digest;
use crate::topk::Counted;

/// Rows counted together, where users allow it. The more there are, the more counts of an item are added up before they
/// move.
const ROWS: usize = 1 << 23;

/// See the module.
///
/// # Contract
/// All rows of a route come one after the other in one task, so all of a user's contributions are there when it is
/// bounded.
#[derive(Debug)]
pub struct Count {
    plan: Plan,
    dictionaries: Dictionaries,
    item_routes: Routes,
    bound: Option<L0Bound>,
    /// The items that are counted; none for all.
    wanted: Option<Known>,
    builder: Option<ContributionsBuilder>,
    rows: usize,
    routes: InOrder,
}

impl Count {
    pub(super) fn new(
        plan: Plan,
        item_routes: Routes,
        bound: Option<L0Bound>,
        wanted: Option<Known>,
    ) -> Self {
        let dictionaries = Dictionaries::new(plan.key());
        Self {
            plan,
            dictionaries,
            item_routes,
            bound,
            wanted,
            builder: None,
            rows: 0,
            routes: InOrder::default(),
        }
    }

    fn count(&mut self) -> Result<Vec<RecordBatch>> {
        self.rows = 0;
        let Some(builder) = self.builder.take() else {
            return Ok(Vec::new());
        };
        let contributions = builder.finish(no_names()?, &ItemOrder::Any)?;
        let Counted { counts, vocabulary } =
            Counted::new(contributions, self.bound, self.plan.key(), &control())?;
        let digests = vocabulary.digests_from(0..vocabulary.code_bound());
        let counts = digests.into_iter().zip(counts.into_iter().map(i64::unsigned_abs));
        let is_wanted = |item| self.wanted.as_ref().is_none_or(|wanted| wanted.contains(item));
        let counts: Vec<(Digest, u64)> =
            counts.filter(|(item, users)| *users > 0 && is_wanted(*item)).collect();
        pack(counts, self.item_routes).into_batches()
    }
}

impl Stage for Count {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (route, packed) in unrouted(&batch)? {
            if self.routes.is_next(route)? && self.rows >= ROWS {
                ready.extend(self.count()?);
            }
            let builder = self.builder.get_or_insert_with(nameless_builder);
            self.rows += unpack(packed, &self.dictionaries, builder)?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.count()
    }
}
