//! Packed contributions become the weights of one round, added up within the task and routed by item.

use arrow_array::RecordBatch;

use super::Stage;
use super::decide::Decisions;
use super::packing::{push_weight, unpack};
use super::plan::{Plan, control};
use super::routing::{Routed, Routes, unrouted};
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::{ContributionsBuilder, ItemCode, ItemOrder, Vocabulary};
use crate::mechanisms::Round;
use crate::random::Digest;
use crate::weighting::{WeightHistogram, weigh_round};
use crate::{Error, Result};

/// Rows weighed together, where users allow it. The more there are, the more weights of an item are added up before
/// they move.
const ROWS: usize = 1 << 23;
/// A packed value of more bytes ends.
const PACKED_BYTES: usize = 1 << 22;

/// See the module.
///
/// # Contract
/// All rows of a route come one after the other in one task, so all of a user's contributions are there when it is
/// bounded.
#[derive(Debug)]
pub struct Weigh {
    plan: Plan,
    routes: Routes,
    round: Round,
    gone: Decisions,
    builder: Option<ContributionsBuilder>,
    rows: usize,
    route: i32,
}

impl Weigh {
    pub(super) fn new(plan: Plan, routes: Routes, round: Round, gone: Decisions) -> Self {
        Self { plan, routes, round, gone, builder: None, rows: 0, route: -1 }
    }

    fn weigh(&mut self) -> Result<Vec<RecordBatch>> {
        self.rows = 0;
        let Some(builder) = self.builder.take() else {
            return Ok(Vec::new());
        };
        let (control, key) = (control(), self.plan.key());
        let contributions = builder.finish(super::plan::no_names()?, &ItemOrder::Any)?;
        let bound = self.plan.request().max_items_per_user;
        let mut bounded = BoundedContributions::new(contributions, bound, key, &control)?;
        if let Some(gone) = self.gone.among(bounded.vocabulary()) {
            bounded.remove(&gone, &control)?;
        }
        let mut histogram = WeightHistogram::new(bounded.vocabulary().code_bound());
        let weights = (self.round.weighting, self.round.rule.quantum());
        weigh_round(&mut histogram, &bounded, weights, None, key, &control)?;
        pack(&histogram, bounded.vocabulary(), self.routes).into_batches()
    }
}

/// All items that have weight, those of a route together.
fn pack(histogram: &WeightHistogram, vocabulary: &Vocabulary, routes: Routes) -> Routed {
    let codes = histogram.code_bound();
    let digests = vocabulary.digests_from(0..codes);
    let weighed = digests.into_iter().zip(histogram.weights(0..codes)).filter(|(_, weight)| *weight > 0);
    let mut order: Vec<(u32, Digest, u64)> = weighed.map(|(item, w)| (routes.of(item), item, w)).collect();
    order.sort_unstable_by_key(|(route, ..)| *route);
    let mut made = Routed::default();
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        let mut packed = Vec::new();
        for &(route, item, weight) in group {
            push_weight(item, weight, &mut packed);
            if packed.len() >= PACKED_BYTES {
                made.push(route, std::mem::take(&mut packed));
            }
        }
        made.push(group[0].0, packed);
    }
    made
}

impl Decisions {
    /// The released ones among the items of a vocabulary; `None` if nothing was released.
    pub(super) fn among(&self, vocabulary: &Vocabulary) -> Option<ItemSet> {
        if self.is_empty() {
            return None;
        }
        let codes = vocabulary.code_bound();
        let mut found = ItemSet::new(codes);
        for (code, digest) in vocabulary.digests_from(0..codes).into_iter().enumerate() {
            if self.contains(digest) {
                found.insert(ItemCode::from_index(code));
            }
        }
        Some(found)
    }
}

impl Stage for Weigh {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (route, packed) in unrouted(&batch)? {
            if route < self.route {
                return Err(Error::Internal("contributions do not come in order of their routes"));
            }
            if route > self.route && self.rows >= ROWS {
                ready.extend(self.weigh()?);
            }
            self.route = route;
            let builder = self.builder.get_or_insert_with(super::plan::nameless_builder);
            self.rows += unpack(packed, builder)?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.weigh()
    }
}
