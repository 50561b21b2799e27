//! Packed contributions become the reweighted sums of one scored round, sent by partition of items.
//!
//! The state of an item travels with its weights: from a partition of users to where the item is steered, and from
//! there back to every partition whose users hold the item. So no machine needs to know all items.

use arrow_array::RecordBatch;

use super::batcher::one_thread;
use super::unpacker::Unpacker;
use crate::accounting::L0Bound;
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::ItemCode;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    Message, PartitionBuffers, PartitionOrder, Partitions, States, partitioned_states, partitioned_values,
    unpack_states,
};
use crate::random::{Digest, ReleaseKey};
use crate::rounds::{ItemState, Publish};
use crate::weighting::ReweightedHistogram;
use crate::{Error, Result};

/// The stage that weighs a round by the importance of items.
///
/// # Contract
/// All contributions of a partition come one after the other in one task. After the first round a task has one
/// partition only, and the states of all items that its users hold and that are not abandoned.
#[derive(Debug)]
pub struct Reweight {
    bound: L0Bound,
    key: ReleaseKey,
    partitions: Partitions,
    publish: Publish,
    is_first: bool,
    states: States,
    unpacker: Unpacker,
    order: PartitionOrder,
}

impl Reweight {
    pub(crate) fn new(
        bound: L0Bound,
        key: ReleaseKey,
        partitions: Partitions,
        publish: Publish,
        is_first: bool,
    ) -> Self {
        let (unpacker, order) = (Unpacker::new(&key), PartitionOrder::default());
        Self { bound, key, partitions, publish, is_first, states: States::default(), unpacker, order }
    }

    /// Weigh the users of the partition that has ended.
    fn weigh(&mut self, partition: Option<i32>) -> Result<Vec<RecordBatch>> {
        let (Some(contributions), Some(partition)) = (self.unpacker.take()?, partition) else {
            return Ok(Vec::new());
        };
        let control = one_thread();
        let bounded = BoundedContributions::new(contributions, self.bound, &self.key, &control)?;
        let codes = bounded.vocabulary().code_bound();
        let digests = bounded.vocabulary().digests_from(0..codes);
        let states = self.states_of(&bounded, &digests);
        let importances: Vec<u16> =
            states.iter().map(|state| state.map_or(0, |state| state.importance)).collect();
        let mut histogram = ReweightedHistogram::new(&bounded, |items| self.publish.cap(items));
        histogram.weigh(&bounded, &importances, &control)?;
        let weighed = digests.iter().zip(states).zip(histogram.weights(0..codes));
        let messages = weighed
            .filter_map(|((item, state), weight)| Some(Message { item: *item, weight, state: state? }));
        self.send(messages, partition)
    }

    /// The state of each code; `None` for abandoned items, and for items that no user here keeps.
    fn states_of(&self, bounded: &BoundedContributions, digests: &[Digest]) -> Vec<Option<ItemState>> {
        if !self.is_first {
            return digests.iter().map(|item| self.states.get(item).copied()).collect();
        }
        let mut kept = ItemSet::new(digests.len());
        for item in (0..bounded.users()).flat_map(|user| bounded.kept_items(user)) {
            kept.insert(ItemCode::from_index(*item as usize));
        }
        let codes = 0..digests.len();
        codes.map(|code| kept.contains(ItemCode::from_index(code)).then(ItemState::default)).collect()
    }

    /// Pack messages by the partitions of their items.
    fn send(&self, messages: impl Iterator<Item = Message>, source: i32) -> Result<Vec<RecordBatch>> {
        let mut sent = PartitionBuffers::default();
        messages.for_each(|message| message.pack(sent.to(self.partitions.of(message.item))));
        sent.into_messages(source)
    }
}

impl Stage for Reweight {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        if let Some(packed) = partitioned_states(&batch)? {
            packed.into_iter().try_for_each(|packed| unpack_states(packed, &mut self.states))?;
            return Ok(Vec::new());
        }
        let mut ready = Vec::new();
        for (partition, packed) in partitioned_values(&batch)? {
            let before = self.order.current();
            if self.order.is_next(partition)? {
                if !self.is_first {
                    return Err(Error::Internal("a later round has several partitions in one task"));
                }
                ready.extend(self.weigh(before)?);
            }
            self.unpacker.push(packed)?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.weigh(self.order.current())
    }
}
