//! Contributions: each user's set of distinct items, densely coded.
//!
//! Threads intern users and items (`interner`, `shard`, `table`). Small integers of large files are their own codes
//! (`identity_codes`). Rows are kept in chunks (`chunk`, `rows`), divided by user (`parts`). When all are read, each part
//! of the users (`users`) is grouped on its own (`grouping`), and items are written to pieces of memory that rows had before
//! (`pieces`, `user_items`). `vocabulary` has the digests of items, `keys` what their digests do not tell, and `lineage`
//! which items stand above which, as `lineage_search` reads off their keys.

mod builder;
mod chunk;
mod distinct;
mod grouping;
mod identity_codes;
mod interner;
mod keys;
mod lineage;
mod lineage_search;
mod nameable;
mod order;
mod parts;
mod pieces;
mod read;
mod records;
mod rows;
mod shard;
mod sharding;
mod spilling_builder;
mod table;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "for unit tests")]
pub mod testing;
mod totals;
mod unindexed_rows;
mod user_items;
mod users;
mod vocabulary;

pub use builder::{ContributionsBuilder, Worker};
pub use keys::Keys;
pub use lineage::Lineage;
pub use nameable::{read_closed, read_items};
pub use order::{ItemOrder, RowOrder};
pub use pieces::{Piece, Start};
pub use read::{read, read_batches, read_in_order, row_order};
pub use spilling_builder::SpillingBuilder;
pub use totals::{Later, Totals};
pub use unindexed_rows::{Runs, UnindexedRows, UnindexedWay};
pub use user_items::Contributions;
pub use vocabulary::{Digests, Vocabulary};

pub use crate::ingest::{Code, ItemCode, Key, KeyStore, Payload, Side, UserCode};
