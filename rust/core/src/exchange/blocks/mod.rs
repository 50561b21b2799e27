//! Scored rounds on users in blocks: what is known of an item that one user alone holds is beside that user. Items that
//! several users hold go by codes, and their states are in one array.

mod block_users;
mod bounding;
mod round;
mod users;
mod weigh_blocks;

pub use block_users::BlockUsers;
pub(crate) use bounding::Bounded;
pub(crate) use round::BlockRound;
pub(crate) use users::{Item, MOST_SHARED, OWN, SharedItems, Users, decide, read};
pub use weigh_blocks::WeighBlocks;
