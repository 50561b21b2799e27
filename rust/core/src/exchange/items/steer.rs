//! Reweighted sums become cumulative scores, and the state of an item goes back to its users.
//!
//! What users gave to their items passes through: it goes back to where it comes from.

use arrow_array::RecordBatch;

use super::sum::sum;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    Contents, Decisions, Message, PartitionBuffers, PartitionRuns, Progress, packed_batch,
    partitioned_messages, unpack_messages,
};
use crate::random::{Digest, Words};
use crate::rounds::{Decider, Outcome};
use crate::{Error, Result};

/// The stage that steers a round. In the last round it makes decisions.
///
/// # Contract
/// All messages of a partition come one after the other in one task. So each item is seen once, with its whole weight.
#[derive(Debug)]
pub struct Steer {
    decider: Decider,
    words: Words,
    /// Bytes of states that wait to be returned together.
    most: usize,
    /// The messages of the partition, each with the partition of users that it comes from.
    messages: Vec<(Message, i32)>,
    order: PartitionRuns,
    returned: PartitionBuffers,
    drifts: PartitionBuffers,
    released: Vec<(Digest, i64)>,
}

impl Steer {
    pub(crate) fn new(decider: Decider, words: Words, most: usize) -> Self {
        Self {
            decider,
            words,
            most,
            messages: Vec::new(),
            order: PartitionRuns::default(),
            returned: PartitionBuffers::default(),
            drifts: PartitionBuffers::default(),
            released: Vec::new(),
        }
    }

    /// Decide all items of the partition that has ended, and send the states of the kept ones back to their users.
    fn end_partition(&mut self) -> Result<Vec<RecordBatch>> {
        let mut messages = std::mem::take(&mut self.messages);
        messages.sort_unstable_by_key(|(message, source)| (message.item, *source));
        let items = messages.chunk_by(|a, b| a.0.item == b.0.item);
        let digests: Vec<Digest> = items.clone().map(|parts| parts[0].0.item).collect();
        let mut words = vec![0; digests.len()];
        self.words.fill(&digests, &mut words);
        for (parts, word) in items.zip(words) {
            let (Message { item, before, .. }, _) = parts[0];
            if parts.iter().any(|(message, _)| message.before != before) {
                return Err(Error::Internal("the users of an item know different states of it"));
            }
            let now = parts.iter().map(|(message, _)| message.weight);
            let weight = sum([before.weight].into_iter().chain(now))?;
            match self.decider.decide(before.state, weight, word) {
                Outcome::Released(noisy) => self.released.push((item, noisy)),
                Outcome::Kept(state) if !self.decider.may_release() => {
                    for (_, source) in parts {
                        let before = Progress { state, weight };
                        Message { item, weight: 0, before }.pack_state(self.returned.to(*source));
                    }
                }
                // The last round keeps only items that nobody holds.
                Outcome::Kept(_) | Outcome::Abandoned => {}
            }
        }
        messages.clear();
        self.messages = messages;
        self.returned(self.most)
    }

    /// The states and drifts that wait to be returned, if there are more than `limit` bytes of them.
    fn returned(&mut self, limit: usize) -> Result<Vec<RecordBatch>> {
        if self.returned.bytes() + self.drifts.bytes() <= limit {
            return Ok(Vec::new());
        }
        let mut made = std::mem::take(&mut self.returned).into_states(Contents::Items)?;
        made.extend(std::mem::take(&mut self.drifts).into_states(Contents::Drifts)?);
        Ok(made)
    }
}

impl Stage for Steer {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (partition, source, (contents, packed)) in partitioned_messages(&batch)? {
            if self.order.is_next(partition)? {
                ready.extend(self.end_partition()?);
            }
            match contents {
                Contents::Items => unpack_messages(packed, |message| self.messages.push((message, source)))?,
                Contents::Drifts => self.drifts.to(source).extend(packed),
            }
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let mut ready = self.end_partition()?;
        if self.decider.may_release() {
            ready.push(packed_batch(&Decisions::pack(self.released.drain(..)))?);
        } else {
            ready.extend(self.returned(0)?);
        }
        Ok(ready)
    }
}
