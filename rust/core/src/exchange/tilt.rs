//! Packed contributions become the tilted weights of one round of evidence, routed by item.
//!
//! What is known of an item, its state, travels with its weights: from the users of a route to where the item is decided,
//! and back to every route whose users hold it. So no machine needs to know all items.

use arrow_array::RecordBatch;

use super::Stage;
use super::dictionary::Dictionaries;
use super::packing::{Message, States, unpack, unpack_states};
use super::plan::{Plan, control, nameless_builder, no_names};
use super::routing::{Buffers, InOrder, Routes, unrouted, unrouted_states};
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::{ContributionsBuilder, ItemCode};
use crate::random::Digest;
use crate::rounds::{ItemState, Publish};
use crate::weighting::TiltedHistogram;
use crate::{Error, Result};

/// See the module.
///
/// # Contract
/// All contributions of a route come one after the other in one task. After the first round there is one route only, with
/// the states of all items that its users hold and that are not out.
#[derive(Debug)]
pub struct Tilt {
    plan: Plan,
    dictionaries: Dictionaries,
    item_routes: Routes,
    publish: Publish,
    first: bool,
    states: States,
    builder: Option<ContributionsBuilder>,
    routes: InOrder,
}

impl Tilt {
    pub(super) fn new(plan: Plan, item_routes: Routes, round: u32) -> Result<Self> {
        let Some((_, publish)) = plan.work().calibration.evidence() else {
            return Err(Error::Internal("the rounds gather no evidence"));
        };
        let (publish, states) = (publish.clone(), States::default());
        let dictionaries = Dictionaries::new(plan.key());
        let (builder, routes) = (None, InOrder::default());
        Ok(Self { plan, dictionaries, item_routes, publish, first: round == 0, states, builder, routes })
    }

    /// Weigh the users of the route that has ended.
    fn weigh(&mut self, route: Option<i32>) -> Result<Vec<RecordBatch>> {
        let (Some(builder), Some(route)) = (self.builder.take(), route) else {
            return Ok(Vec::new());
        };
        let (control, key) = (control(), self.plan.key());
        let contributions = builder.finish(no_names()?, None)?;
        let bounded = BoundedContributions::new(contributions, self.plan.bound()?, key, &control)?;
        let codes = bounded.vocabulary().code_bound();
        let digests = bounded.vocabulary().digests_from(0..codes);
        let states = self.states_of(&bounded, &digests);
        let factors: Vec<u16> = states.iter().map(|state| state.map_or(0, |state| state.factor)).collect();
        let mut histogram = TiltedHistogram::new(&bounded, |items| self.publish.cap(items));
        histogram.weigh(&bounded, &factors, &control)?;
        let weighed = digests.iter().zip(states).zip(histogram.weights(0..codes));
        let messages = weighed
            .filter_map(|((item, state), weight)| Some(Message { item: *item, weight, state: state? }));
        send(messages.collect(), self.item_routes, route)
    }

    /// The state of each code; none for items that are out, or that nobody here keeps.
    fn states_of(&self, bounded: &BoundedContributions, digests: &[Digest]) -> Vec<Option<ItemState>> {
        if !self.first {
            return digests.iter().map(|item| self.states.get(item).copied()).collect();
        }
        let mut kept = ItemSet::new(digests.len());
        for item in (0..bounded.users()).flat_map(|user| bounded.kept_items(user)) {
            kept.insert(ItemCode::from_index(*item as usize));
        }
        let codes = 0..digests.len();
        codes.map(|code| kept.contains(ItemCode::from_index(code)).then(ItemState::default)).collect()
    }
}

/// Pack messages by the route of their items.
fn send(messages: Vec<Message>, routes: Routes, source: i32) -> Result<Vec<RecordBatch>> {
    let mut sent = Buffers::default();
    for message in messages {
        message.pack(sent.to(routes.of(message.item)));
    }
    sent.into_messages(source)
}

impl Stage for Tilt {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        if let Some(packed) = unrouted_states(&batch)? {
            packed.into_iter().try_for_each(|packed| unpack_states(packed, &mut self.states))?;
            return Ok(Vec::new());
        }
        let mut ready = Vec::new();
        for (route, packed) in unrouted(&batch)? {
            let before = self.routes.current();
            if self.routes.is_next(route)? {
                if !self.first {
                    return Err(Error::Internal("a later round has several routes in one task"));
                }
                ready.extend(self.weigh(before)?);
            }
            let builder = self.builder.get_or_insert_with(nameless_builder);
            unpack(packed, &self.dictionaries, builder)?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.weigh(self.routes.current())
    }
}
