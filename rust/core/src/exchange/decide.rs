//! Packed weights become decisions, where all weights of an item have come together.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::at_items::Verdict;
use crate::random::{Digest, Words};
use crate::rounds::{Decider, ItemState, Outcome};
use crate::{Error, Result};

/// Bytes of a packed decision: a digest and a number.
const DECISION: usize = size_of::<u128>() + size_of::<i64>();

/// Items, each with a number: a noisy weight in integer units (0 where weights were not asked for), or a count of users.
#[derive(Debug, Clone, Default)]
pub struct Decisions(ByDigest<i64>);

/// A map from items.
pub(super) type ByDigest<T> = HashMap<Digest, T, BuildHasherDefault<DigestHasher>>;

impl Decisions {
    /// Read packed decisions, one after the other.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged, or an item is there twice.
    pub fn unpack(packed: &[u8]) -> Result<Self> {
        let decisions = Self::each(packed)?;
        let mut found = Self::default();
        found.0.reserve(decisions.len());
        for (item, number) in decisions {
            if found.0.insert(item, number).is_some() {
                return Err(Error::Internal("an item was decided twice"));
            }
        }
        Ok(found)
    }

    /// Packed decisions, one after the other.
    pub(super) fn each(packed: &[u8]) -> Result<impl ExactSizeIterator<Item = (Digest, i64)> + '_> {
        let (decisions, rest) = packed.as_chunks::<DECISION>();
        let decisions = decisions.iter().map(|decision| {
            let (digest, number) = decision.split_at(size_of::<u128>());
            let (mut bytes, mut units) = ([0; size_of::<u128>()], [0; size_of::<i64>()]);
            bytes.copy_from_slice(digest);
            units.copy_from_slice(number);
            (Digest(u128::from_le_bytes(bytes)), i64::from_le_bytes(units))
        });
        if rest.is_empty() { Ok(decisions) } else { Err(Error::Internal("decisions are damaged")) }
    }

    /// Pack items and numbers, one after the other.
    pub(super) fn pack(items: impl IntoIterator<Item = (Digest, i64)>) -> Vec<u8> {
        let mut packed = Vec::new();
        for (item, number) in items {
            packed.extend(item.0.to_le_bytes());
            packed.extend(number.to_le_bytes());
        }
        packed
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, item: Digest) -> bool {
        self.0.contains_key(&item)
    }

    pub(super) fn get(&self, item: Digest) -> Option<i64> {
        self.0.get(&item).copied()
    }

    /// Take out the number of an item.
    pub(super) fn take(&mut self, item: Digest) -> Option<i64> {
        self.0.remove(&item)
    }

    /// In no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Digest, i64)> + '_ {
        self.0.iter().map(|(item, number)| (*item, *number))
    }
}

/// Digests are as good as random: they are their own hash. So are 32 bits of them, spread over the word.
#[derive(Debug, Default)]
pub(super) struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u32(&mut self, bits: u32) {
        self.0 = u64::from(bits) << 32 | u64::from(bits);
    }

    #[expect(clippy::cast_possible_truncation, reason = "half of the bits are enough")]
    fn write_u128(&mut self, digest: u128) {
        self.0 = digest as u64;
    }
}

/// See the module.
#[derive(Debug)]
pub struct Decide {
    rule: Decider,
    words: Words,
}

impl Decide {
    pub(super) fn new(rule: Decider, words: Words) -> Self {
        Self { rule, words }
    }
}

impl Verdict for Decide {
    fn decide(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        let digests: Vec<Digest> = items.iter().map(|(item, _)| *item).collect();
        let mut words = vec![0; digests.len()];
        self.words.fill(&digests, &mut words);
        for (&(item, weight), &word) in items.iter().zip(&words) {
            if let Outcome::Released(noisy) = self.rule.decide(ItemState::default(), weight, word) {
                packed.extend(item.0.to_le_bytes());
                packed.extend(noisy.to_le_bytes());
            }
        }
        Ok(())
    }
}
