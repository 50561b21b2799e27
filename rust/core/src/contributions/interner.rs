//! Interning: digests to dense codes.

use super::KeyStore;
use crate::random::Digest;

/// Dense code of an item. Which item gets which code depends on timing; nothing released depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ItemCode(pub(crate) u32);

/// One shard of the vocabulary.
#[derive(Debug)]
pub(crate) struct ItemShard {
    pub(crate) digests: Vec<Digest>,
    pub(crate) keys: KeyStore,
}
