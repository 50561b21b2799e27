//! Blocks of users and of items, on which scored rounds run on every engine.
//!
//! Each user spreads its weight by public importances of its items. These are functions of the outcomes of earlier rounds.
//! So a user's weights depend on these outcomes and on its own items only. Their L2 norm in a round is at most the user's
//! norm of the round, and what one item gets over all rounds is at most the user's cap, both exactly.
//!
//! An item that one user alone keeps stands beside that user, in a [`UserBlock`]. The others are *shared* and have *slots*.
//! Of a shared item the sum of its weights and its importance are in memory on every engine ([`SharedTable`]). What else is
//! known of it is in an [`ItemBlock`].
//!
//! Where items stand above others, `descent` limits importances by those above.
//!
//! The [`Driver`] has the order of the rounds: it says which round users give in, and decides the shared items when they
//! have. Where blocks stand is the engine's matter ([`Blocks`]): in memory, on the disk, or in tasks of Spark.

mod bytes;
mod decisions;
mod descent;
mod driver;
mod filler;
mod items;
mod lone_item;
mod lone_items;
mod memory;
mod round;
mod rows;
mod shared_table;
mod sums;
mod users;

pub use bytes::PackBlock;
pub use descent::SharedLines;
pub(in crate::rounds) use descent::{Above, NOT_CLOSED, push_alone};
pub use driver::{Blocks, Driver};
pub use filler::BlockFiller;
pub(super) use items::BYTES as ITEM_BYTES;
pub use items::{BLOCK_ITEMS, ItemBlock};
pub(super) use lone_items::BYTES as ALONE_BYTES;
pub use memory::MemoryBlocks;
pub use round::BlockRound;
pub(super) use rows::{BYTES as ROW_BYTES, MOST_USERS};
pub use shared_table::{MOST_SHARED, SharedTable};
pub(super) use sums::{RANGE, THREAD_SLOTS};
pub(super) use users::Kept;
pub use users::UserBlock;
