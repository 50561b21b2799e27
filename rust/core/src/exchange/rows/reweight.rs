//! Packed contributions become the reweighted sums of one scored round, sent by partition of items.
//!
//! The state of an item travels with its weights: from a partition of users to where the item is steered, and from
//! there back to every partition whose users hold the item. So no machine needs to know all items.
//!
//! The drifts of users whose caps bind make the same way in one value, back to their own partition.

use arrow_array::RecordBatch;

use super::batcher::one_thread;
use super::unpacker::Unpacker;
use crate::accounting::L0Bound;
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::ItemCode;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    Contents, Drifts, Message, PartitionBuffers, PartitionRuns, Partitions, Progress, States,
    partitioned_states, partitioned_values, take_drift, unpack_states,
};
use crate::random::{Digest, ReleaseKey};
use crate::weighting::{Budgets, square};
use crate::{Error, Result};

/// The number of a scored round, and its part of the budgets.
#[derive(Debug, Clone)]
pub(crate) struct ReweightedRound {
    pub(crate) budgets: Budgets,
    pub(crate) share: u32,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

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
    round: ReweightedRound,
    states: States,
    /// The packed drifts of the partition after the round before.
    drifts: Vec<u8>,
    unpacker: Unpacker,
    order: PartitionRuns,
}

impl Reweight {
    pub(crate) fn new(
        bound: L0Bound,
        key: ReleaseKey,
        partitions: Partitions,
        round: ReweightedRound,
    ) -> Self {
        let (unpacker, order) = (Unpacker::new(&key), PartitionRuns::default());
        Self { bound, key, partitions, round, states: States::default(), drifts: Vec::new(), unpacker, order }
    }

    /// Weigh the users of the partition that has ended.
    fn weigh(&mut self, partition: Option<i32>) -> Result<Vec<RecordBatch>> {
        let (Some(contributions), Some(partition)) = (self.unpacker.take()?, partition) else {
            return Ok(Vec::new());
        };
        let bounded = BoundedContributions::new(contributions, self.bound, &self.key, &one_thread())?;
        let digests = bounded.vocabulary().digests_from(0..bounded.vocabulary().code_bound());
        let states = self.states_of(&bounded, &digests);
        let (weights, drifts) = self.weights_of(&bounded, &digests, &states)?;
        let messages =
            digests.iter().zip(states).zip(weights).filter_map(|((item, before), weight)| {
                Some(Message { item: *item, weight, before: before? })
            });
        let mut sent = self.sent(messages).into_messages(Contents::Items, partition)?;
        let drifts = drifts.into_packed();
        if !self.round.is_last && !drifts.is_empty() {
            let mut returning = PartitionBuffers::default();
            // Any partition of items sends them back. There are as many as partitions of users.
            returning.to(partition).extend(drifts);
            sent.extend(returning.into_messages(Contents::Drifts, partition)?);
        }
        Ok(sent)
    }

    /// The sum of the weights of each code, and the drifts after the round.
    fn weights_of(
        &self,
        bounded: &BoundedContributions,
        digests: &[Digest],
        states: &[Option<Progress>],
    ) -> Result<(Vec<u64>, Drifts)> {
        // Otherwise: an abandoned item.
        let importance = |item: &u32| states[*item as usize].map_or(0, |before| before.state.importance);
        let budgets = self.round.budgets.in_round(self.round.share);
        let (mut weights, mut drifts, mut before) =
            (vec![0; digests.len()], Drifts::default(), &*self.drifts);
        let mut users: Vec<usize> = (0..bounded.users()).collect();
        users.sort_unstable_by_key(|user| bounded.user_digests()[*user]);
        for user in users {
            let mut items = bounded.kept_items(user).to_vec();
            let Some(budget) = budgets.get(self.round.budgets.place(items.len())) else { continue };
            let spread = budget.spread(items.iter().map(|item| square(importance(item))).sum());
            if !budget.binds() {
                for item in &items {
                    weights[*item as usize] += u64::from(spread.uncapped(importance(item)));
                }
                continue;
            }
            items.sort_unstable_by_key(|item| digests[*item as usize]);
            for item in &items {
                let mut drift = if self.round.is_first { 0 } else { take_drift(&mut before)? };
                weights[*item as usize] += u64::from(spread.weight(importance(item), &mut drift));
                drifts.push(drift);
            }
        }
        if before.is_empty() { Ok((weights, drifts)) } else { Err(OTHER_USERS) }
    }

    /// The state of each code; `None` for abandoned items, and for items that no user here keeps.
    fn states_of(&self, bounded: &BoundedContributions, digests: &[Digest]) -> Vec<Option<Progress>> {
        if !self.round.is_first {
            return digests.iter().map(|item| self.states.get(item).copied()).collect();
        }
        let mut kept = ItemSet::new();
        for item in (0..bounded.users()).flat_map(|user| bounded.kept_items(user)) {
            kept.insert(ItemCode::from_index(*item as usize));
        }
        let codes = 0..digests.len();
        codes.map(|code| kept.contains(ItemCode::from_index(code)).then(Progress::default)).collect()
    }

    /// Messages packed by the partitions of their items.
    fn sent(&self, messages: impl Iterator<Item = Message>) -> PartitionBuffers {
        let mut sent = PartitionBuffers::default();
        messages.for_each(|message| message.pack(sent.to(self.partitions.of(message.item))));
        sent
    }
}

/// Drifts that are not those of the partition's users.
const OTHER_USERS: Error = Error::Internal("the users of a partition changed between rounds");

impl Stage for Reweight {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        if let Some(packed) = partitioned_states(&batch)? {
            for (contents, packed) in packed {
                match contents {
                    Contents::Items => unpack_states(packed, &mut self.states)?,
                    Contents::Drifts => self.drifts.extend(packed),
                }
            }
            return Ok(Vec::new());
        }
        let mut ready = Vec::new();
        for (partition, packed) in partitioned_values(&batch)? {
            let before = self.order.current();
            if self.order.is_next(partition)? {
                if !self.round.is_first {
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
