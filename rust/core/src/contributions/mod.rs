//! Contributions: each user's set of distinct items, densely coded.
//!
//! Threads intern users and items (`interner`, `shard`, `table`). Small integers of large files are their own codes
//! (`own`). Rows are kept in chunks (`chunk`, `rows`), divided by user (`parts`). When all are read, each part of the users
//! (`users`) is grouped on its own (`grouping`), and items are written to pieces of memory that rows had before (`pieces`,
//! `grouped`). `vocabulary` has the digests of items, and `keys`
//! what their digests do not tell.

mod builder;
mod chunk;
mod distinct;
mod grouped;
mod grouping;
mod interner;
mod keys;
mod order;
mod own;
mod parts;
mod pieces;
mod read;
mod records;
mod refill;
mod rows;
mod shard;
mod sharding;
mod straight;
mod table;
#[cfg(test)]
pub(crate) mod testing;
mod totals;
mod users;
mod vocabulary;

pub use builder::{ContributionsBuilder, Worker};
pub use grouped::Contributions;
pub(crate) use keys::Keys;
pub use order::ItemOrder;
pub(crate) use order::RowOrder;
pub(crate) use pieces::{Piece, Start};
pub use read::read;
pub(crate) use read::{read_in_order, row_order};
pub(crate) use refill::Refill;
pub(crate) use straight::{Runs, Straight, Way as StraightWay};
pub(crate) use totals::{Later, Totals};
pub(crate) use vocabulary::Digests;
pub use vocabulary::Vocabulary;

pub use crate::ingest::{Code, ItemCode, Key, KeyStore, Payload, Side, UserCode};
