//! Contributions: each user's set of distinct items, densely coded.

mod builder;
mod chunk;
mod grouping;
mod interner;
mod keys;
mod order;
mod shard;
mod sharding;
#[cfg(test)]
pub(crate) mod testing;

pub use builder::{Code, ContributionsBuilder, Side, Worker};
pub use keys::{KeyLayout, KeyStore, Payload};
pub use order::ItemOrder;

use std::ops::Range;

use crate::ingest::ItemSchema;
use crate::random::Digest;
use shard::Shard;
use sharding::Sharding;

use crate::runtime::memory::Array;

/// Dense code of an item. Which item gets which code depends on timing; nothing released depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ItemCode(pub(crate) u32);

impl ItemCode {
    /// The code at a position of arrays indexed by item.
    #[expect(clippy::cast_possible_truncation, reason = "codes fit 32 bits by construction")]
    pub(crate) fn from_index(index: usize) -> Self {
        Self(index as u32)
    }

    /// Position in arrays indexed by item.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Dense code of a user while rows are read. As with items, which user gets which code depends on timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UserCode(pub(crate) u32);

impl Code for ItemCode {
    const SIDE: Side = Side::Item;
    fn new(number: u32) -> Self {
        Self(number)
    }
    fn number(self) -> u32 {
        self.0
    }
}

impl Code for UserCode {
    const SIDE: Side = Side::User;
    fn new(number: u32) -> Self {
        Self(number)
    }
    fn number(self) -> u32 {
        self.0
    }
}

/// Distinct (user, item) pairs grouped by user, not yet bounded: they can not be weighed.
#[derive(Debug)]
pub struct Contributions {
    /// Digest of each user.
    pub(crate) users: Vec<Digest>,
    /// `items[starts[u]..][..lens[u]]` are the user's items.
    pub(crate) starts: Vec<usize>,
    pub(crate) lens: Vec<u32>,
    pub(crate) items: Array<u32>,
    /// Whether each user's items stand in an order that was asked for.
    pub(crate) in_order: bool,
    pub(crate) vocabulary: Vocabulary,
}

impl Contributions {
    /// How many items have how many users, as (users, items) in ascending order. These are exact counts: they say
    /// what can be had from data that is public anyway.
    pub(crate) fn users_per_item(&self) -> Vec<(u32, u64)> {
        let mut users = self.users_of_items();
        users.sort_unstable();
        let alike = users.chunk_by(|a, b| a == b).filter(|alike| alike[0] > 0);
        alike.map(|alike| (alike[0], alike.len() as u64)).collect()
    }

    /// Forget rows of items that are not wanted. What is left of a user depends on its own rows alone.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(Digest) -> bool) {
        let digests = self.vocabulary.digests_from(0..self.vocabulary.code_bound());
        let wanted: Vec<bool> = digests.into_iter().map(is_wanted).collect();
        let items = self.items.as_mut_slice();
        for (start, len) in self.starts.iter().zip(&mut self.lens) {
            let mut kept = 0;
            for read in *start..*start + *len as usize {
                let item = items[read];
                items[*start + kept as usize] = item;
                kept += u32::from(wanted[item as usize]);
            }
            *len = kept;
        }
    }

    /// The number of users of each item code.
    pub(crate) fn users_of_items(&self) -> Vec<u32> {
        let mut users = vec![0_u32; self.vocabulary.code_bound()];
        for (start, len) in self.starts.iter().zip(&self.lens) {
            for item in &self.items.as_slice()[*start..][..*len as usize] {
                users[*item as usize] += 1;
            }
        }
        users
    }
}

/// What is known of each item code: its digest and its key.
#[derive(Debug)]
pub struct Vocabulary {
    shards: Vec<Shard<KeyStore>>,
    sharding: Sharding,
    schema: ItemSchema,
}

/// The digests of all items, looked up by code.
#[derive(Debug)]
pub(crate) struct Digests<'a> {
    shards: Vec<&'a [u128]>,
    sharding: Sharding,
}

impl Digests<'_> {
    /// The digest of an item.
    #[inline]
    pub(crate) fn get(&self, item: ItemCode) -> Digest {
        Digest(self.shards[self.sharding.shard_of_code(item.0)][self.sharding.local_of_code(item.0)])
    }
}

impl Vocabulary {
    /// All codes are below this.
    pub(crate) fn code_bound(&self) -> usize {
        // Otherwise: without shards there are no codes.
        self.shards.iter().map(Shard::len).max().unwrap_or(0) * self.sharding.shards()
    }

    /// The digests of all items, for random access.
    pub(crate) fn digests(&self) -> Digests<'_> {
        Digests { shards: self.shards.iter().map(Shard::digests).collect(), sharding: self.sharding }
    }

    /// Codes in one call of [`Vocabulary::gather_digests`] should start at a multiple of this.
    pub(crate) const STRIDE: usize = Sharding::MOST;

    /// Digests of the codes from `first` (a multiple of [`Vocabulary::STRIDE`]) on; codes without an item are
    /// filled with zero.
    pub(crate) fn gather_digests(&self, first: usize, digests: &mut [Digest]) {
        debug_assert!(first.is_multiple_of(Self::STRIDE));
        let (shards, local) = (self.sharding.shards(), first / self.sharding.shards());
        for (s, shard) in self.shards.iter().enumerate() {
            // Otherwise: the shard has no codes from there on.
            let mut known = shard.digests().get(local..).unwrap_or_default().iter();
            for slot in digests.iter_mut().skip(s).step_by(shards) {
                // Otherwise: zero for codes without an item, as promised above.
                *slot = Digest(known.next().copied().unwrap_or_default());
            }
        }
    }

    /// The digests of a range of codes from a multiple of [`Vocabulary::STRIDE`] on, in their order.
    pub(crate) fn digests_from(&self, codes: Range<usize>) -> Vec<Digest> {
        let mut digests = vec![Digest::default(); codes.len()];
        self.gather_digests(codes.start, &mut digests);
        digests
    }

    /// Where the key of an item is stored.
    pub(crate) fn key(&self, item: ItemCode) -> (&KeyStore, usize) {
        let shard = &self.shards[self.sharding.shard_of_code(item.0)];
        (&shard.records, self.sharding.local_of_code(item.0))
    }

    /// The types of the item columns.
    pub(crate) fn schema(&self) -> &ItemSchema {
        &self.schema
    }
}
