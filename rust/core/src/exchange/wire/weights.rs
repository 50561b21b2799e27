//! The wire format of weights, messages and states of items.
//!
//! A packed weight is a digest and an integer of variable length. A message is a weight followed by the state of its
//! item: cumulative score (zigzag), exposure and importance as integers of variable length. A packed state is a digest
//! and a state.

use super::batches::PartitionedValues;
use super::by_digest::ByDigest;
use super::bytes::{CORRUPT, VALUE_BYTES, push_digest, push_integer, take_digest, take_integer};
use super::partitions::Partitions;
use crate::random::Digest;
use crate::rounds::ItemState;
use crate::{Error, Result};

/// Append one packed weight.
pub(super) fn push_weight(item: Digest, weight: u64, packed: &mut Vec<u8>) {
    push_digest(item, packed);
    push_integer(weight, packed);
}

/// Append the weights of a packed value to `weights`.
///
/// # Errors
/// [`Error::Internal`] if the value is damaged, as in the functions below.
pub(crate) fn unpack_weights(mut packed: &[u8], weights: &mut Vec<(Digest, u64)>) -> Result<()> {
    while !packed.is_empty() {
        weights.push((take_digest(&mut packed)?, take_integer(&mut packed)?));
    }
    Ok(())
}

/// Pack weights by the partitions of their items.
pub(crate) fn pack_by_partition(weights: Vec<(Digest, u64)>, partitions: Partitions) -> PartitionedValues {
    let with_partition = weights.into_iter().map(|(item, weight)| (partitions.of(item), item, weight));
    let mut order: Vec<(i32, Digest, u64)> = with_partition.collect();
    order.sort_unstable_by_key(|(partition, ..)| *partition);
    let mut made = PartitionedValues::default();
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        let mut packed = Vec::new();
        for &(partition, item, weight) in group {
            push_weight(item, weight, &mut packed);
            if packed.len() >= VALUE_BYTES {
                made.push(partition, std::mem::take(&mut packed));
            }
        }
        made.push(group[0].0, packed);
    }
    made
}

/// The states of items.
pub(crate) type States = ByDigest<ItemState>;

/// The message of one partition of users about an item in a scored round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) item: Digest,
    /// The sum of the weights that the users of the partition give.
    pub(crate) weight: u64,
    /// The state of the item before the round.
    pub(crate) state: ItemState,
}

impl Message {
    pub(crate) fn pack(self, packed: &mut Vec<u8>) {
        push_weight(self.item, self.weight, packed);
        push_state(self.state, packed);
    }

    /// Pack the state without the weight.
    pub(crate) fn pack_state(self, packed: &mut Vec<u8>) {
        push_digest(self.item, packed);
        push_state(self.state, packed);
    }
}

/// Hand out the messages of a packed value.
pub(crate) fn unpack_messages(mut packed: &[u8], mut each: impl FnMut(Message)) -> Result<()> {
    while !packed.is_empty() {
        let (item, weight) = (take_digest(&mut packed)?, take_integer(&mut packed)?);
        each(Message { item, weight, state: take_state(&mut packed)? });
    }
    Ok(())
}

/// Add the states of a packed value. An item with two states is an error.
pub(crate) fn unpack_states(mut packed: &[u8], states: &mut States) -> Result<()> {
    while !packed.is_empty() {
        let item = take_digest(&mut packed)?;
        if states.insert(item, take_state(&mut packed)?).is_some() {
            return Err(Error::Internal("an item has two states"));
        }
    }
    Ok(())
}

fn push_state(state: ItemState, packed: &mut Vec<u8>) {
    let ItemState { score, exposure, importance } = state;
    push_integer((score << 1 ^ score >> 63).cast_unsigned(), packed);
    push_integer(exposure.into(), packed);
    push_integer(importance.into(), packed);
}

fn take_state(rest: &mut &[u8]) -> Result<ItemState> {
    let score = take_integer(rest)?;
    Ok(ItemState {
        score: (score >> 1).cast_signed() ^ -(score & 1).cast_signed(),
        exposure: take_integer(rest)?.try_into().map_err(|_| CORRUPT)?,
        importance: take_integer(rest)?.try_into().map_err(|_| CORRUPT)?,
    })
}
