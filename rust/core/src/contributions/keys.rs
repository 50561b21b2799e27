//! The keys of items whose digests are known.

use super::sharding::Sharding;
use crate::ingest::{ItemCode, ItemSchema, Key, KeyStore};
use crate::random::Digest;

/// The keys that digests do not tell, by code.
#[derive(Debug)]
pub(crate) struct Keys {
    /// Those of each shard.
    stores: Vec<KeyStore>,
    pub(super) sharding: Sharding,
    schema: ItemSchema,
    /// All codes below this are integers.
    pub(super) below: u32,
}

impl Keys {
    pub(super) fn new(stores: Vec<KeyStore>, sharding: Sharding, schema: ItemSchema, below: u32) -> Self {
        Self { stores, sharding, schema, below }
    }

    /// The key of an item that has this digest.
    pub(crate) fn key(&self, item: ItemCode, digest: Digest) -> Key<'_> {
        let of_interned = |interned: u32| {
            let store = &self.stores[self.sharding.shard_of_code(interned)];
            store.get(self.sharding.local_of_code(interned))
        };
        // Otherwise: an integer, which its digest tells.
        Key { digest, long: item.0.checked_sub(self.below).and_then(of_interned) }
    }

    /// The types of the item columns.
    pub(crate) fn schema(&self) -> &ItemSchema {
        &self.schema
    }
}
