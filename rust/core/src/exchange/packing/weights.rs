//! Weights, messages and states: what is told of items.

use super::super::decide::ByDigest;
use super::{CORRUPT, push_integer, take_digest, take_integer};
use crate::random::Digest;
use crate::rounds::ItemState;
use crate::{Error, Result};

/// Pack one weight behind others.
pub(in crate::exchange) fn push_weight(item: Digest, weight: u64, packed: &mut Vec<u8>) {
    packed.extend(item.0.to_le_bytes());
    push_integer(weight, packed);
}

/// Unpack all weights behind those of `weights`.
pub(in crate::exchange) fn unpack_weights(mut packed: &[u8], weights: &mut Vec<(Digest, u64)>) -> Result<()> {
    while !packed.is_empty() {
        weights.push((take_digest(&mut packed)?, take_integer(&mut packed)?));
    }
    Ok(())
}

/// The states of items.
pub(in crate::exchange) type States = ByDigest<ItemState>;

/// What the users of a route tell of an item in a round of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exchange) struct Message {
    pub(in crate::exchange) item: Digest,
    pub(in crate::exchange) weight: u64,
    pub(in crate::exchange) state: ItemState,
}

impl Message {
    pub(in crate::exchange) fn pack(self, packed: &mut Vec<u8>) {
        push_weight(self.item, self.weight, packed);
        push_state(self.state, packed);
    }

    /// Without the weight.
    pub(in crate::exchange) fn pack_state(self, packed: &mut Vec<u8>) {
        packed.extend(self.item.0.to_le_bytes());
        push_state(self.state, packed);
    }
}

/// Unpack all messages.
pub(in crate::exchange) fn unpack_messages(mut packed: &[u8], mut each: impl FnMut(Message)) -> Result<()> {
    while !packed.is_empty() {
        let (item, weight) = (take_digest(&mut packed)?, take_integer(&mut packed)?);
        each(Message { item, weight, state: take_state(&mut packed)? });
    }
    Ok(())
}

/// Unpack all states; each item has one.
pub(in crate::exchange) fn unpack_states(mut packed: &[u8], states: &mut States) -> Result<()> {
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
