//! The digests of all items, and the keys that digests do not tell, by code.

use std::ops::Range;

use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;

use super::identity_codes::OwnDigests;
use super::keys::Keys;
use super::shard::Shard;
use super::sharding::Sharding;
use crate::ingest::{ItemCode, ItemSchema, Key, KeyStore};
use crate::runtime::memory::Growing;

/// The digest of each item code, and the key where the digest does not tell it.
#[derive(Debug)]
pub struct Vocabulary {
    /// Those of each shard.
    digests: Vec<Growing<u128>>,
    pub(super) keys: Keys,
    own: Option<OwnDigests>,
}

/// The digests of all items, looked up by code.
#[derive(Debug)]
pub struct Digests<'a> {
    shards: Vec<&'a [u128]>,
    sharding: Sharding,
    own: Option<&'a OwnDigests>,
    /// All codes below this are integers.
    below: u32,
}

impl Digests<'_> {
    /// The digest of an item.
    #[inline]
    #[must_use]
    pub fn get(&self, item: ItemCode) -> Digest {
        Digest(match self.own {
            Some(own) if item.0 < self.below => own.get(item.0),
            _ => self.shards[self.sharding.shard_of_code(item.0)][self.local(item.0)],
        })
    }

    /// The digests of some items.
    #[must_use]
    pub fn of(&self, items: &[u32]) -> Vec<Digest> {
        items.iter().map(|item| self.get(ItemCode(*item))).collect()
    }

    /// The place of an interned item in its shard.
    #[inline]
    fn local(&self, item: u32) -> usize {
        self.sharding.local_of_code(item - self.below)
    }

    /// Put integers that are their own codes first, then the other items in the order of their shards, and their digests
    /// into `digests`. `spare` is a buffer.
    ///
    /// Most of the time goes into waiting for memory. With a shard at a time few instructions stand between the reads,
    /// and the processor overlaps more of them. The digests of integers are not read.
    pub fn gather(&self, items: &mut [u32], spare: &mut Vec<u32>, digests: &mut Vec<u128>) {
        digests.clear();
        let own = own_first(items, self.below, spare);
        let (own, others) = items.split_at_mut(own);
        if let Some(known) = self.own {
            known.append(own, digests);
        }
        let mut ends = [0; Sharding::MOST];
        for item in &*spare {
            ends[self.sharding.shard_of_code(*item)] += 1;
        }
        let mut end = 0;
        for place in &mut ends[..self.shards.len()] {
            (end, *place) = (end + *place, end);
        }
        for item in &*spare {
            let to = &mut ends[self.sharding.shard_of_code(*item)];
            others[*to] = *item;
            *to += 1;
        }
        let mut first = 0;
        for (known, end) in self.shards.iter().zip(ends) {
            digests.extend(others[first..end].iter().map(|item| known[self.local(*item)]));
            first = end;
        }
    }
}

/// Move the items below `below` to the front; returns how many they are. The others go to `others`, and what is left of
/// the items means nothing.
fn own_first(items: &mut [u32], below: u32, others: &mut Vec<u32>) -> usize {
    others.clear();
    others.resize(items.len(), 0);
    let (mut own, mut other) = (0, 0);
    // No branch, since it could not be predicted.
    for at in 0..items.len() {
        let item = items[at];
        (items[own], others[other]) = (item, item);
        let is_own = usize::from(item < below);
        (own, other) = (own + is_own, other + 1 - is_own);
    }
    others.truncate(other);
    own
}

impl Vocabulary {
    /// The vocabulary of all shards of an interner.
    pub(super) fn new(
        shards: Vec<Shard<KeyStore>>,
        sharding: Sharding,
        schema: ItemSchema,
        own: Option<OwnDigests>,
    ) -> Self {
        let (digests, stores) = shards.into_iter().map(Shard::into_digests_and_records).unzip();
        // All codes below this are integers.
        let below = own.as_ref().map_or(0, OwnDigests::below);
        Self { digests, keys: Keys::new(stores, sharding, schema, below), own }
    }

    /// All codes are below this.
    pub fn code_bound(&self) -> usize {
        let interned = self.keys.sharding.code_bound(self.digests.iter().map(Growing::len));
        index(self.keys.below.into()) + interned
    }

    /// The digests of all items, for random access.
    pub fn digests(&self) -> Digests<'_> {
        let shards = self.digests.iter().map(Growing::as_slice).collect();
        let Keys { sharding, below, .. } = self.keys;
        Digests { shards, sharding, own: self.own.as_ref(), below }
    }

    /// Codes in one call of [`Vocabulary::gather_digests`] should start at a multiple of this.
    pub const STRIDE: usize = Sharding::MOST;

    /// Digests of the codes from `first` on, which is a multiple of [`Vocabulary::STRIDE`].
    ///
    /// A code without an item has the digest of its integer, if it is kept for one, and otherwise zero. So who goes through
    /// all codes asks which items somebody holds.
    pub fn gather_digests(&self, first: usize, digests: &mut [Digest]) {
        debug_assert!(first.is_multiple_of(Self::STRIDE));
        let below = index(self.keys.below.into());
        let integers = below.saturating_sub(first).min(digests.len());
        let (own, interned) = digests.split_at_mut(integers);
        if let Some(known) = self.own.as_ref().filter(|_| integers > 0) {
            known.fill(codes(first), own);
        }
        if interned.is_empty() {
            return;
        }
        let (shards, first) = (self.keys.sharding.shards(), first + integers - below);
        for (s, known) in self.digests.iter().enumerate() {
            // Otherwise: the shard has no codes from there on.
            let mut known = known.as_slice().get(first / shards..).unwrap_or_default().iter();
            for slot in interned.iter_mut().skip(s).step_by(shards) {
                // Otherwise: zero, as promised above.
                *slot = Digest(known.next().copied().unwrap_or_default());
            }
        }
    }

    /// The digests of a range of codes from a multiple of [`Vocabulary::STRIDE`] on, in their order.
    #[must_use]
    pub fn digests_from(&self, codes: Range<usize>) -> Vec<Digest> {
        let mut digests = vec![Digest::default(); codes.len()];
        self.gather_digests(codes.start, &mut digests);
        digests
    }

    /// The key of an item.
    #[must_use]
    pub fn key(&self, item: ItemCode) -> Key<'_> {
        let Keys { sharding, below, .. } = self.keys;
        let digest = match &self.own {
            Some(own) if item.0 < below => own.get(item.0),
            _ => {
                let interned = item.0 - below;
                self.digests[sharding.shard_of_code(interned)].as_slice()[sharding.local_of_code(interned)]
            }
        };
        self.keys.key(item, Digest(digest))
    }

    /// The keys, for items whose digests are known.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The keys, and the digests, to be freed.
    #[must_use]
    pub fn into_keys(self) -> (Keys, Vec<Growing<u128>>) {
        (self.keys, self.digests)
    }

    /// The types of the item columns.
    #[must_use]
    pub fn schema(&self) -> &ItemSchema {
        self.keys.schema()
    }
}
