//! What rounds released.

use crate::contributions::{ItemCode, Keys};
use crate::ingest::Key;
use crate::random::Digest;

/// The items that the rounds released.
#[derive(Debug)]
pub struct Selected {
    pub(crate) items: Vec<Released>,
    pub(super) keys: Keys,
}

/// A released item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Released {
    pub(crate) item: ItemCode,
    pub(crate) digest: Digest,
    /// The noisy weight in grid steps; 0 where weights were not asked for.
    pub(crate) weight: i64,
}

impl Selected {
    /// What digests do not tell of the keys.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The key of each item.
    pub(crate) fn item_keys(&self) -> impl ExactSizeIterator<Item = Key<'_>> + Clone {
        self.items.iter().map(|released| self.keys.key(released.item, released.digest))
    }
}
