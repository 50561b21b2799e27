//! Scored rounds on users in blocks: what is known of an item that one user alone holds is beside that user. Items that
//! several users hold go by codes, and their states are in one array.

mod block_users;
mod bounding;
mod columns;
mod items;
mod parts;
mod round;
mod shared;
mod users;
mod weigh_blocks;

pub use block_users::BlockUsers;
pub(crate) use bounding::Bounded;
pub(crate) use items::{CodedItems, Items};
pub(crate) use parts::InParts;
pub(crate) use round::BlockRound;
pub(crate) use shared::{MOST_SHARED, SharedItems};
pub(crate) use users::Users;
pub use weigh_blocks::WeighBlocks;
