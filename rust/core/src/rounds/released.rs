//! What rounds released.

use dpsel_exact::random::Digest;
use dpsel_rows::contributions::{ItemCode, Keys};

/// The items that the rounds released.
#[derive(Debug)]
pub struct Selected {
    /// The items.
    pub items: Vec<Released>,
    pub(super) keys: Keys,
}

/// A released item, and what it is called beside its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released<N = ItemCode> {
    /// What it is called.
    pub item: N,
    /// The digest of its key.
    pub digest: Digest,
    /// The noisy weight in grid steps; 0 where weights were not asked for.
    pub weight: i64,
}

impl<N> Released<N> {
    /// The same under another name.
    pub(super) fn renamed<M>(self, name: impl FnOnce(N) -> M) -> Released<M> {
        Released { item: name(self.item), digest: self.digest, weight: self.weight }
    }
}

impl Selected {
    /// The items, and what their digests do not tell of their keys.
    pub(crate) fn into_parts(self) -> (Vec<Released>, Keys) {
        (self.items, self.keys)
    }
}
