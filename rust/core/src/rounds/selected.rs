//! What rounds released.

use crate::contributions::{ItemCode, Keys};
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
    /// The items, and what their digests do not tell of their keys.
    pub(crate) fn into_parts(self) -> (Vec<Released>, Keys) {
        (self.items, self.keys)
    }
}
