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
//! their item behind: evidence (zigzag), exposure and factor as variable-length integers. States stand alone likewise.

use crate::contributions::{
    Code, Contributions, ContributionsBuilder, Digests, ItemCode, KeyStore, Payload, UserCode, Worker,
};
use crate::random::Digest;
use crate::threshold::ItemState;
use crate::{Error, Result};

use super::decide::ByDigest;
use super::dictionary::Dictionaries;

pub(super) const CORRUPT: Error = Error::Internal("a packed value is damaged");
/// Bytes of a digest.
const DIGEST: usize = size_of::<u128>();
/// Rows handed to a builder at once.
const ROWS: usize = 1 << 16;

/// Packs users of one table.
#[derive(Debug)]
pub(super) struct Packer<'a> {
    digests: Digests<'a>,
    dictionaries: &'a Dictionaries,
    /// Place in the dictionary plus one of each item code.
    places: Vec<u32>,
    dictionary: Vec<u32>,
    users: u32,
    body: Vec<u8>,
}

impl<'a> Packer<'a> {
    pub(super) fn new(contributions: &'a Contributions, dictionaries: &'a Dictionaries) -> Self {
        let vocabulary = &contributions.vocabulary;
        Self {
            digests: vocabulary.digests(),
            dictionaries,
            places: vec![0; vocabulary.code_bound()],
            dictionary: Vec::new(),
            users: 0,
            body: Vec::new(),
        }
    }

    /// The most bytes that the packed value takes so far.
    pub(super) fn bytes(&self) -> usize {
        9 + self.dictionary.len() * DIGEST + self.body.len()
    }

    pub(super) fn add_user(&mut self, user: Digest, items: &[u32]) {
        self.users += 1;
        self.body.extend(user.0.to_le_bytes());
        push_integer(items.len() as u64, &mut self.body);
        for &item in items {
            let place = &mut self.places[item as usize];
            if *place == 0 {
                self.dictionary.push(item);
                *place = u32::try_from(self.dictionary.len()).unwrap_or(u32::MAX);
            }
            push_integer((*place - 1).into(), &mut self.body);
        }
    }

    /// The packed value of the users added since the last one; `None` if there are none.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if self.users == 0 {
            return None;
        }
        let mut packed = Vec::with_capacity(self.bytes());
        packed.extend(std::mem::take(&mut self.users).to_le_bytes());
        let items = self.dictionary.drain(..).map(|item| {
            self.places[item as usize] = 0;
            self.digests.get(ItemCode::new(item))
        });
        self.dictionaries.push(&items.collect::<Vec<_>>(), &mut packed);
        packed.append(&mut self.body);
        Some(packed)
    }
}

/// Digests alone go on: names are looked up at the end.
struct Nameless;

impl Payload for Nameless {
    fn append_to(&self, _rows: impl ExactSizeIterator<Item = usize> + Clone, _store: &mut KeyStore) {}
}

/// Add packed contributions to a builder; returns the number of rows.
pub(super) fn unpack(
    packed: &[u8],
    dictionaries: &Dictionaries,
    builder: &ContributionsBuilder,
) -> Result<usize> {
    let mut rest = packed;
    let users = take_u32(&mut rest)?;
    let dictionary = dictionaries.take(&mut rest)?;
    let mut worker = builder.worker();
    let mut codes: Vec<ItemCode> = Vec::with_capacity(dictionary.len());
    worker.intern(&dictionary, &Nameless, &mut codes)?;
    let mut rows = Rows { worker, users: Vec::new(), lens: Vec::new(), items: Vec::new(), total: 0 };
    for _ in 0..users {
        let user = take_digest(&mut rest)?;
        let mut left = take_integer(&mut rest)?;
        while left > 0 {
            let part = left.min(ROWS as u64);
            rows.begin(user)?;
            for _ in 0..part {
                let place = usize::try_from(take_integer(&mut rest)?).map_err(|_| CORRUPT)?;
                rows.items.push(*codes.get(place).ok_or(CORRUPT)?);
            }
            rows.lens.push(u32::try_from(part).map_err(|_| CORRUPT)?);
            left -= part;
        }
    }
    rows.flush()?;
    if rest.is_empty() { Ok(rows.total) } else { Err(CORRUPT) }
}

/// The items of packed contributions.
pub(super) fn take_items(rest: &mut &[u8], dictionaries: &Dictionaries) -> Result<Vec<Digest>> {
    take_u32(rest)?;
    dictionaries.take(rest)
}

/// Rows on their way to a builder.
struct Rows<'a> {
    worker: Worker<'a>,
    users: Vec<Digest>,
    lens: Vec<u32>,
    items: Vec<ItemCode>,
    total: usize,
}

impl Rows<'_> {
    fn begin(&mut self, user: Digest) -> Result<()> {
        if self.items.len() >= ROWS {
            self.flush()?;
        }
        self.users.push(user);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let mut codes: Vec<UserCode> = Vec::with_capacity(self.users.len());
        self.worker.intern(&self.users, &Nameless, &mut codes)?;
        self.worker.push(&codes, Some(&self.lens), &self.items)?;
        self.total += self.items.len();
        self.users.clear();
        self.lens.clear();
        self.items.clear();
        Ok(())
    }
}

/// Pack one weight behind others.
pub(super) fn push_weight(item: Digest, weight: u64, packed: &mut Vec<u8>) {
    packed.extend(item.0.to_le_bytes());
    push_integer(weight, packed);
}

/// Unpack all weights behind those of `weights`.
pub(super) fn unpack_weights(mut packed: &[u8], weights: &mut Vec<(Digest, u64)>) -> Result<()> {
    while !packed.is_empty() {
        weights.push((take_digest(&mut packed)?, take_integer(&mut packed)?));
    }
    Ok(())
}

/// The states of items.
pub(super) type States = ByDigest<ItemState>;

/// What the users of a route tell of an item in a round of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) item: Digest,
    pub(super) weight: u64,
    pub(super) state: ItemState,
}

impl Message {
    pub(super) fn pack(self, packed: &mut Vec<u8>) {
        push_weight(self.item, self.weight, packed);
        push_state(self.state, packed);
    }

    /// Without the weight.
    pub(super) fn pack_state(self, packed: &mut Vec<u8>) {
        packed.extend(self.item.0.to_le_bytes());
        push_state(self.state, packed);
    }
}

/// Unpack all messages.
pub(super) fn unpack_messages(mut packed: &[u8], mut each: impl FnMut(Message)) -> Result<()> {
    while !packed.is_empty() {
        let (item, weight) = (take_digest(&mut packed)?, take_integer(&mut packed)?);
        each(Message { item, weight, state: take_state(&mut packed)? });
    }
    Ok(())
}

/// Unpack all states; each item has one.
pub(super) fn unpack_states(mut packed: &[u8], states: &mut States) -> Result<()> {
    while !packed.is_empty() {
        let item = take_digest(&mut packed)?;
        if states.insert(item, take_state(&mut packed)?).is_some() {
            return Err(Error::Internal("an item has two states"));
        }
    }
    Ok(())
}

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

fn push_state(state: ItemState, packed: &mut Vec<u8>) {
    let ItemState { evidence, exposure, factor } = state;
    push_integer((evidence << 1 ^ evidence >> 63).cast_unsigned(), packed);
    push_integer(exposure.into(), packed);
    push_integer(factor.into(), packed);
}

fn take_state(rest: &mut &[u8]) -> Result<ItemState> {
    let evidence = take_integer(rest)?;
    Ok(ItemState {
        evidence: (evidence >> 1).cast_signed() ^ -(evidence & 1).cast_signed(),
        exposure: take_integer(rest)?.try_into().map_err(|_| CORRUPT)?,
        factor: take_integer(rest)?.try_into().map_err(|_| CORRUPT)?,
    })
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

    use super::*;

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
                .map(|(item, weight, (evidence, exposure, factor))| {
                    Message { item: Digest(item), weight, state: ItemState { evidence, exposure, factor } }
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
            let control = crate::control::Control::default();
            let dictionaries = Dictionaries::new(&crate::random::ReleaseKey::insecure_test([0; 32]));
            let _ = unpack(&packed, &dictionaries, &ContributionsBuilder::new(crate::contributions::KeyLayout::Words, &control));
        }
    }
}
