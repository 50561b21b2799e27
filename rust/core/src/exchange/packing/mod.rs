//! Contributions and weights as bytes.
//!
//! Contributions are packed with a dictionary: the digest of an item stands once in a packed value, and its place in the
//! dictionary with each user who has it. Frequent items come early and so have small places, which take one or two
//! bytes. Layout, all little-endian:
//!
//! * `users: u32`, then the [dictionary](super::dictionary);
//! * for each user its digest, the number of its items and their places as variable-length integers.
//!
//! Weights are packed as digest and variable-length integer, one after the other. Messages are weights with the state of
//! their item behind: cumulative score (zigzag), exposure and importance as variable-length integers. States stand alone likewise.

mod contributions;
mod weights;

pub(super) use self::contributions::{Packer, take_items, unpack};
pub(super) use self::weights::{
    Message, States, push_weight, unpack_messages, unpack_states, unpack_weights,
};
use crate::random::Digest;
use crate::{Error, Result};

pub(super) const CORRUPT: Error = Error::Internal("a packed value is damaged");

/// Pack the step from one mark to the next and a number of users, which is mostly 1.
pub(super) fn push_marked(step: u32, users: u32, packed: &mut Vec<u8>) {
    push_integer(u64::from(step) << 1 | u64::from(users > 1), packed);
    if users > 1 {
        push_integer(users.into(), packed);
    }
}

pub(super) fn take_marked(rest: &mut &[u8]) -> Result<(u32, u32)> {
    let step = take_integer(rest)?;
    let users = if step & 1 == 1 { take_integer(rest)? } else { 1 };
    Ok((u32::try_from(step >> 1).map_err(|_| CORRUPT)?, u32::try_from(users).map_err(|_| CORRUPT)?))
}

/// Pack a mark and a number of users.
pub(super) fn push_pair(mark: u32, users: u32, packed: &mut Vec<u8>) {
    packed.extend(mark.to_le_bytes());
    push_integer(users.into(), packed);
}

pub(super) fn take_pair(rest: &mut &[u8]) -> Result<(u32, u32)> {
    Ok((take_u32(rest)?, take_integer(rest)?.try_into().map_err(|_| CORRUPT)?))
}

/// Seven bits to a byte, the lowest first; the top bit says that more follow.
#[expect(clippy::cast_possible_truncation, reason = "the low byte is meant")]
pub(super) fn push_integer(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn take_integer(rest: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, tail) = rest.split_first().ok_or(CORRUPT)?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(CORRUPT)
}

pub(super) fn take_u32(rest: &mut &[u8]) -> Result<u32> {
    let (word, tail) = rest.split_first_chunk().ok_or(CORRUPT)?;
    *rest = tail;
    Ok(u32::from_le_bytes(*word))
}

pub(super) fn take_digest(rest: &mut &[u8]) -> Result<Digest> {
    let (word, tail) = rest.split_first_chunk().ok_or(CORRUPT)?;
    *rest = tail;
    Ok(Digest(u128::from_le_bytes(*word)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::dictionary::Dictionaries;
    use super::*;
    use crate::contributions::{ContributionsBuilder, KeyLayout};
    use crate::rounds::ItemState;

    proptest! {
        #[test]
        fn weights_survive(weights in prop::collection::vec((any::<u128>(), any::<u64>()), 0..50)) {
            let mut packed = Vec::new();
            for (item, weight) in &weights {
                push_weight(Digest(*item), *weight, &mut packed);
            }
            let mut found = Vec::new();
            unpack_weights(&packed, &mut found).unwrap();
            prop_assert_eq!(found, weights.iter().map(|(item, w)| (Digest(*item), *w)).collect::<Vec<_>>());
        }

        #[test]
        fn messages_survive(
            parts in prop::collection::vec((any::<u128>(), any::<u64>(), any::<(i64, u32, u16)>()), 0..50),
        ) {
            let messages: Vec<Message> = parts
                .into_iter()
                .map(|(item, weight, (score, exposure, importance))| {
                    Message { item: Digest(item), weight, state: ItemState { score, exposure, importance } }
                })
                .collect();
            let (mut packed, mut alone) = (Vec::new(), Vec::new());
            for message in &messages {
                message.pack(&mut packed);
                message.pack_state(&mut alone);
            }
            let (mut found, mut states) = (Vec::new(), States::default());
            unpack_messages(&packed, |message| found.push(message)).unwrap();
            unpack_states(&alone, &mut states).unwrap();
            prop_assert!(messages.iter().all(|message| states[&message.item] == message.state));
            prop_assert_eq!(found, messages);
        }

        #[test]
        fn damaged_values_are_refused(packed in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack_weights(&packed, &mut Vec::new());
            let _ = unpack_messages(&packed, |_| {});
            let _ = unpack_states(&packed, &mut States::default());
            let control = crate::runtime::Control::default();
            let dictionaries = Dictionaries::new(&crate::random::ReleaseKey::insecure_test([0; 32]));
            let _ = unpack(&packed, &dictionaries, &ContributionsBuilder::new(KeyLayout::Words, &control));
        }
    }
}
