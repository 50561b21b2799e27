//! Contributions: each user's set of distinct items, densely coded.
//!
//! Threads intern users and items (`interner`, `shard`, `table`). Small integers of large files are their own codes
//! (`own`). Rows are kept in chunks (`chunk`, `rows`), divided by user (`parts`). When all are read, each part of the users
//! (`users`) is grouped on its own (`grouping`), and items are written to pieces of memory that rows had before (`pieces`,
//! `grouped`). `vocabulary` has the digests of items, `keys`
//! what their digests do not tell, and `lineage` which items stand above which, as
//! `finding` reads off their keys.

mod builder;
mod chunk;
mod distinct;
mod finding;
mod grouped;
mod grouping;
mod interner;
mod keys;
mod lineage;
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
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "for unit tests")]
pub mod testing;
mod totals;
mod users;
mod vocabulary;

pub use builder::{ContributionsBuilder, Worker};
pub use grouped::Contributions;
pub use keys::Keys;
pub use lineage::Lineage;
pub use order::{ItemOrder, RowOrder};
pub use pieces::{Piece, Start};
pub use read::{read, read_in_order, row_order};
pub use refill::Refill;
pub use straight::{Runs, Straight, Way as StraightWay};
pub use totals::{Later, Totals};
pub use vocabulary::{Digests, Vocabulary};

pub use crate::ingest::{Code, ItemCode, Key, KeyStore, Payload, Side, UserCode};
