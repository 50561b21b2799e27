//! Contributions: each user's set of distinct items, densely coded.

mod builder;
mod interner;
mod keys;

pub use builder::{ContributionsBuilder, UserRun, Worker};
pub use interner::ItemCode;
pub use keys::{KeyLayout, KeyStore, Payload};

use crate::ingest::ItemSchema;
use crate::random::Digest;

/// Distinct (user, item) pairs grouped by user, not yet bounded: they can not be weighed.
#[derive(Debug)]
pub struct Contributions {
    /// Digest of each user.
    pub(crate) users: Vec<Digest>,
    /// `starts[u] .. starts[u] + lens[u]` is the user's slice of `items`.
    pub(crate) starts: Vec<usize>,
    pub(crate) lens: Vec<u32>,
    pub(crate) items: Vec<ItemCode>,
    pub(crate) vocabulary: Vocabulary,
}

/// What is known of each item code: its digest and its key.
#[derive(Debug)]
pub struct Vocabulary {
    pub(crate) shards: Vec<interner::ItemShard>,
    pub(crate) schema: ItemSchema,
}
