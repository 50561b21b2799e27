//! Tilted weights become evidence where all weights of an item have come together; its state goes back to its users.

use arrow_array::RecordBatch;

use super::Stage;
use super::at_items::sum;
use super::decide::Decisions;
use super::packing::{Message, unpack_messages};
use super::routing::{Buffers, InOrder, packed_batch, unrouted_messages};
use crate::random::{Digest, Words};
use crate::rounds::{Decider, Outcome};
use crate::{Error, Result};

/// States that wait to be returned together.
const RETURNED_BYTES: usize = 1 << 24;

/// See the module. In the last round it makes decisions.
///
/// # Contract
/// All messages of a route come one after the other in one task, so each item is looked at once, with its whole weight.
#[derive(Debug)]
pub struct Steer {
    rule: Decider,
    words: Words,
    /// The messages of the route, each with the route of the users that it comes from.
    messages: Vec<(Message, i32)>,
    routes: InOrder,
    returned: Buffers,
    released: Vec<(Digest, i64)>,
}

impl Steer {
    pub(super) fn new(rule: Decider, words: Words) -> Self {
        let (messages, routes) = (Vec::new(), InOrder::default());
        Self { rule, words, messages, routes, returned: Buffers::default(), released: Vec::new() }
    }

    /// Look at all items of the route that has ended.
    fn end_route(&mut self) -> Result<Vec<RecordBatch>> {
        let mut messages = std::mem::take(&mut self.messages);
        messages.sort_unstable_by_key(|(message, source)| (message.item, *source));
        let items = messages.chunk_by(|a, b| a.0.item == b.0.item);
        let digests: Vec<Digest> = items.clone().map(|parts| parts[0].0.item).collect();
        let mut words = vec![0; digests.len()];
        self.words.fill(&digests, &mut words);
        for (parts, word) in items.zip(words) {
            let (Message { item, state, .. }, _) = parts[0];
            if parts.iter().any(|(message, _)| message.state != state) {
                return Err(Error::Internal("the users of an item know different states of it"));
            }
            let weight = sum(parts.iter().map(|(message, _)| message.weight))?;
            match self.rule.decide(state, weight, word) {
                Outcome::Released(noisy) => self.released.push((item, noisy)),
                Outcome::Abandoned => {}
                Outcome::Kept(state) => {
                    for (_, source) in parts {
                        Message { item, weight: 0, state }.pack_state(self.returned.to(*source));
                    }
                }
            }
        }
        messages.clear();
        self.messages = messages;
        self.returned(RETURNED_BYTES)
    }

    /// The states that wait to be returned, if there are more than `limit` bytes of them.
    fn returned(&mut self, limit: usize) -> Result<Vec<RecordBatch>> {
        if self.returned.bytes() <= limit {
            return Ok(Vec::new());
        }
        std::mem::take(&mut self.returned).into_states()
    }
}

impl Stage for Steer {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (route, source, packed) in unrouted_messages(&batch)? {
            if self.routes.is_next(route)? {
                ready.extend(self.end_route()?);
            }
            unpack_messages(packed, |message| self.messages.push((message, source)))?;
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let mut ready = self.end_route()?;
        if self.rule.may_release() {
            ready.push(packed_batch(&Decisions::pack(self.released.drain(..)))?);
        } else {
            ready.extend(self.returned(0)?);
        }
        Ok(ready)
    }
}
