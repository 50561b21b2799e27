//! The wire format of weights, messages and states of items.
//!
//! A packed weight is a digest and an integer of variable length. A message is a weight followed by the progress of its
//! item: the weight of earlier rounds, noise (zigzag), exposure and importance as integers of variable length. A packed
//! state is a digest and this progress.

use super::batches::PartitionedValues;
use super::by_digest::ByDigest;
use super::bytes::{CORRUPT, VALUE_BYTES, push_digest, push_integer, take_digest, take_integer};
use super::partitions::{Partitions, TO_DRIVER};
use crate::random::Digest;
use crate::rounds::ItemState;
use crate::{Error, Result};

/// Append one packed weight.
pub(crate) fn push_weight(item: Digest, weight: u64, packed: &mut Vec<u8>) {
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

/// Pack weights for the driver.
pub(crate) fn pack_for_driver(weights: &[(Digest, u64)]) -> PartitionedValues {
    let (mut made, mut packed) = (PartitionedValues::default(), Vec::new());
    for &(item, weight) in weights {
        push_weight(item, weight, &mut packed);
        if packed.len() >= VALUE_BYTES {
            made.push(TO_DRIVER, std::mem::take(&mut packed));
        }
    }
    if !packed.is_empty() {
        made.push(TO_DRIVER, packed);
    }
    made
}

/// An item after the earlier rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) state: ItemState,
    /// The sum of its weights in these rounds.
    pub(crate) weight: u64,
}

/// The progress of items.
pub(crate) type States = ByDigest<Progress>;

/// The message of one partition of users about an item in a scored round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) item: Digest,
    /// The sum of the weights that the users of the partition give.
    pub(crate) weight: u64,
    /// The item before the round.
    pub(crate) before: Progress,
}

impl Message {
    pub(crate) fn pack(self, packed: &mut Vec<u8>) {
        push_weight(self.item, self.weight, packed);
        push_progress(self.before, packed);
    }

    /// Pack the progress without the weight of the round.
    pub(crate) fn pack_state(self, packed: &mut Vec<u8>) {
        push_digest(self.item, packed);
        push_progress(self.before, packed);
    }
}

/// Hand out the messages of a packed value.
pub(crate) fn unpack_messages(mut packed: &[u8], mut each: impl FnMut(Message)) -> Result<()> {
    while !packed.is_empty() {
        let (item, weight) = (take_digest(&mut packed)?, take_integer(&mut packed)?);
        each(Message { item, weight, before: take_progress(&mut packed)? });
    }
    Ok(())
}

/// Add the states of a packed value. An item with two states is an error.
pub(crate) fn unpack_states(mut packed: &[u8], states: &mut States) -> Result<()> {
    while !packed.is_empty() {
        let item = take_digest(&mut packed)?;
        if states.insert(item, take_progress(&mut packed)?).is_some() {
            return Err(Error::Internal("an item has two states"));
        }
    }
    Ok(())
}

fn push_progress(progress: Progress, packed: &mut Vec<u8>) {
    let Progress { state: ItemState { noise, exposure, importance }, weight } = progress;
    push_integer(weight, packed);
    push_integer((noise << 1 ^ noise >> 63).cast_unsigned(), packed);
    push_integer(exposure.into(), packed);
    push_integer(importance.into(), packed);
}

fn take_progress(rest: &mut &[u8]) -> Result<Progress> {
    let (weight, noise) = (take_integer(rest)?, take_integer(rest)?);
    let state = ItemState {
        noise: (noise >> 1).cast_signed() ^ -(noise & 1).cast_signed(),
        exposure: take_integer(rest)?.try_into().map_err(|_| CORRUPT)?,
        importance: take_integer(rest)?.try_into().map_err(|_| CORRUPT)?,
    };
    Ok(Progress { state, weight })
}
