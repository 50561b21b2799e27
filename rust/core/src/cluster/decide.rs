//! Packed weights become decisions, where all weights of an item have come together.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use arrow_array::RecordBatch;

use super::Stage;
use super::packing::unpack_weights;
use super::routing::{packed_batch, unrouted};
use crate::random::{Digest, Words};
use crate::threshold::Decider;
use crate::weighting::UNIT;
use crate::{Error, Result};

/// Bytes of a packed decision: a digest and a noisy weight.
const DECISION: usize = size_of::<u128>() + size_of::<i64>();
/// A packed value of more bytes ends.
const PACKED_BYTES: usize = 1 << 22;

/// The largest weight that noise may be added to: 2^32 users of one unit each.
const LARGEST: u64 = UNIT << 32;
const TOO_MANY: Error = Error::Capacity { what: "users of one item", limit: 1 << 32 };

/// Items that were released, each with its noisy weight in integer units (0 where weights were not asked for).
#[derive(Debug, Clone, Default)]
pub struct Decisions(Units);

type Units = HashMap<Digest, i64, BuildHasherDefault<DigestHasher>>;

impl Decisions {
    /// Read packed decisions, one after the other.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged, or an item was released twice.
    pub fn unpack(packed: &[u8]) -> Result<Self> {
        let (decisions, rest) = packed.as_chunks::<DECISION>();
        let mut found = Self::default();
        for decision in decisions {
            let (digest, weight) = decision.split_at(size_of::<u128>());
            let (Ok(digest), Ok(weight)) = (digest.try_into(), weight.try_into()) else {
                return Err(Error::Internal("decisions are damaged"));
            };
            let digest = Digest(u128::from_le_bytes(digest));
            if found.0.insert(digest, i64::from_le_bytes(weight)).is_some() {
                return Err(Error::Internal("an item was released twice"));
            }
        }
        if rest.is_empty() { Ok(found) } else { Err(Error::Internal("decisions are damaged")) }
    }

    /// Number of released items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was released.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, item: Digest) -> bool {
        self.0.contains_key(&item)
    }

    /// Take out the noisy weight of an item.
    pub(super) fn take(&mut self, item: Digest) -> Option<i64> {
        self.0.remove(&item)
    }
}

/// Digests are as good as random: they are their own hash.
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

    #[expect(clippy::cast_possible_truncation, reason = "half of the bits are enough")]
    fn write_u128(&mut self, digest: u128) {
        self.0 = digest as u64;
    }
}

/// See the module.
///
/// # Contract
/// All weights of a route come one after the other in one task, so each item is decided once, on its whole weight.
#[derive(Debug)]
pub struct Decide {
    rule: Decider,
    words: Words,
    with_weights: bool,
    weights: Vec<(Digest, u64)>,
    route: i32,
    packed: Vec<u8>,
}

impl Decide {
    pub(super) fn new(rule: Decider, words: Words, with_weights: bool) -> Self {
        Self { rule, words, with_weights, weights: Vec::new(), route: -1, packed: Vec::new() }
    }

    /// Decide all items of the route that has ended. Every item here has weight: somebody holds it.
    fn decide(&mut self) -> Result<()> {
        self.weights.sort_unstable_by_key(|(item, _)| *item);
        let items = self.weights.chunk_by(|a, b| a.0 == b.0).map(whole);
        let items: Vec<(Digest, u64)> = items.collect::<Result<_>>()?;
        let digests: Vec<Digest> = items.iter().map(|(item, _)| *item).collect();
        let mut words = vec![0; digests.len()];
        self.words.fill(&digests, &mut words);
        for (&(item, weight), &word) in items.iter().zip(&words) {
            if weight > 0 && self.rule.releases(weight, word) {
                let noisy = if self.with_weights { self.rule.noisy_weight(weight, word) } else { 0 };
                self.packed.extend(item.0.to_le_bytes());
                self.packed.extend(noisy.to_le_bytes());
            }
        }
        self.weights.clear();
        Ok(())
    }

    /// A batch of decisions if there are more than `limit` bytes of them.
    fn ready(&mut self, limit: usize) -> Result<Vec<RecordBatch>> {
        if self.packed.len() <= limit {
            return Ok(Vec::new());
        }
        Ok(vec![packed_batch(&std::mem::take(&mut self.packed))?])
    }
}

/// An item and the sum of its weights.
fn whole(parts: &[(Digest, u64)]) -> Result<(Digest, u64)> {
    let sum = parts.iter().try_fold(0_u64, |sum, (_, weight)| sum.checked_add(*weight));
    let fits = sum.filter(|sum| *sum <= LARGEST).zip(parts.first());
    fits.map(|(sum, (item, _))| (*item, sum)).ok_or(TOO_MANY)
}

impl Stage for Decide {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (route, packed) in unrouted(&batch)? {
            if route < self.route {
                return Err(Error::Internal("weights do not come in order of their routes"));
            }
            if route > self.route {
                self.decide()?;
            }
            self.route = route;
            unpack_weights(packed, &mut self.weights)?;
        }
        self.ready(PACKED_BYTES)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.decide()?;
        self.ready(0)
    }
}
