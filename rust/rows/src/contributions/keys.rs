//! What digests do not tell of keys.

use dpsel_exact::random::Digest;

use super::lineage::Lineage;
use super::sharding::Sharding;
use crate::ingest::{ItemCode, ItemSchema, Key, KeyStore};

/// The keys that digests do not tell, by code: those of more than one block.
#[derive(Debug)]
pub struct Keys {
    /// Those of each shard.
    stores: Vec<KeyStore>,
    pub(super) sharding: Sharding,
    schema: ItemSchema,
    /// All codes below this are integers.
    pub(super) below: u32,
    /// The items above each, where items are the nodes of a tree.
    pub(super) lineage: Option<Lineage>,
}

impl Keys {
    /// The stores of all shards, for codes of which those below `below` are integers.
    pub(super) fn new(stores: Vec<KeyStore>, sharding: Sharding, schema: ItemSchema, below: u32) -> Self {
        Self { stores, sharding, schema, below, lineage: None }
    }

    /// The key of an item that has this digest.
    #[must_use]
    pub fn key(&self, item: ItemCode, digest: Digest) -> Key<'_> {
        let of_interned = |interned: u32| {
            let store = &self.stores[self.sharding.shard_of_code(interned)];
            store.get(self.sharding.local_of_code(interned))
        };
        // Otherwise: the digest tells the key. That holds for integers and short keys.
        Key { digest, long: item.0.checked_sub(self.below).and_then(of_interned) }
    }

    /// The items above each, where items are the nodes of a tree.
    #[must_use]
    pub fn lineage(&self) -> Option<&Lineage> {
        self.lineage.as_ref()
    }

    /// The types of the item columns.
    #[must_use]
    pub fn schema(&self) -> &ItemSchema {
        &self.schema
    }
}
