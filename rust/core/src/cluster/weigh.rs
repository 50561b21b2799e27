//! Packed contributions become the weights of one round, or numbers of users, added up within the task and routed by
//! item.

use arrow_array::RecordBatch;

use super::Stage;
use super::census::MostUsers;
use super::known::Known;
use super::packing::{push_weight, unpack};
use super::plan::{Plan, control, nameless_builder, no_names};
use super::routing::{InOrder, Routed, Routes, unrouted};
use crate::Result;
use crate::accounting::L0Bound;
use crate::bounding::BoundedContributions;
use crate::contributions::{Contributions, ContributionsBuilder, ItemOrder};
use crate::mechanisms::Round;
use crate::random::{Digest, ReleaseKey, Words};
use crate::threshold::Decider;
use crate::topk::Counted;
use crate::weighting::{WeightHistogram, weigh_round};

/// Rows weighed together, where users allow it. The more there are, the more weights of an item are added up before
/// they move.
const ROWS: usize = 1 << 23;
/// A packed value of more bytes ends.
const PACKED_BYTES: usize = 1 << 22;

/// What is added up for each item.
#[derive(Debug)]
pub(super) enum Summand {
    /// The weight of a round, without the items that are gone.
    Weight(Box<Weights>),
    /// One for each user who keeps it under a limit, or has it; of some items only.
    Users { bound: Option<L0Bound>, wanted: Option<Known> },
}

/// The weights of one round.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) round: Round,
    pub(super) bound: L0Bound,
    /// What earlier rounds released.
    pub(super) gone: Known,
    /// What tells which items the round can release, if that is known.
    pub(super) possible: Option<(MostUsers, Decider, Words)>,
}

impl Weights {
    /// What is not zero, of items that the round can release.
    fn sums(&self, contributions: Contributions, key: &ReleaseKey) -> Result<Vec<(Digest, u64)>> {
        let control = control();
        let mut bounded = BoundedContributions::new(contributions, self.bound, key, &control)?;
        if let Some(gone) = self.gone.among(bounded.vocabulary()) {
            bounded.remove(&gone, &control)?;
        }
        let codes = bounded.vocabulary().code_bound();
        let mut histogram = WeightHistogram::new(codes);
        let weights = (self.round.weighting, self.round.rule.quantum());
        weigh_round(&mut histogram, &bounded, weights, None, key, &control)?;
        let digests = bounded.vocabulary().digests_from(0..codes);
        let weights = digests.into_iter().zip(histogram.weights(0..codes));
        let mut sums: Vec<(Digest, u64)> = weights.filter(|(_, weight)| *weight > 0).collect();
        if let Some((users, rule, words)) = &self.possible {
            users.retain_possible(&mut sums, rule, words);
        }
        Ok(sums)
    }
}

/// See the module.
///
/// # Contract
/// All rows of a route come one after the other in one task, so all of a user's contributions are there when it is
/// bounded.
#[derive(Debug)]
pub struct Weigh {
    plan: Plan,
    item_routes: Routes,
    summand: Summand,
    builder: Option<ContributionsBuilder>,
    rows: usize,
    routes: InOrder,
}

impl Weigh {
    pub(super) fn new(plan: Plan, item_routes: Routes, summand: Summand) -> Self {
        Self { plan, item_routes, summand, builder: None, rows: 0, routes: InOrder::default() }
    }

    fn weigh(&mut self) -> Result<Vec<RecordBatch>> {
        self.rows = 0;
        let Some(builder) = self.builder.take() else {
            return Ok(Vec::new());
        };
        let contributions = builder.finish(no_names()?, &ItemOrder::Any)?;
        pack(self.summand.sums(contributions, &self.plan)?, self.item_routes).into_batches()
    }
}

impl Summand {
    /// What is not zero.
    fn sums(&self, contributions: Contributions, plan: &Plan) -> Result<Vec<(Digest, u64)>> {
        match self {
            Self::Weight(weights) => weights.sums(contributions, plan.key()),
            Self::Users { bound, wanted } => {
                let Counted { counts, vocabulary } =
                    Counted::new(contributions, *bound, plan.key(), &control())?;
                let digests = vocabulary.digests_from(0..vocabulary.code_bound());
                let counts = digests.into_iter().zip(counts.into_iter().map(i64::unsigned_abs));
                let is_wanted = |item| wanted.as_ref().is_none_or(|wanted| wanted.contains(item));
                Ok(counts.filter(|(item, users)| *users > 0 && is_wanted(*item)).collect())
            }
        }
    }
}

/// All items, those of a route together.
pub(super) fn pack(weighed: Vec<(Digest, u64)>, routes: Routes) -> Routed {
    let with_route = weighed.into_iter().map(|(item, weight)| (routes.of(item), item, weight));
    let mut order: Vec<(i32, Digest, u64)> = with_route.collect();
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

impl Stage for Weigh {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (route, packed) in unrouted(&batch)? {
            if self.routes.is_next(route)? && self.rows >= ROWS {
                ready.extend(self.weigh()?);
            }
            let builder = self.builder.get_or_insert_with(nameless_builder);
            self.rows += unpack(packed, builder)?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.weigh()
    }
}
