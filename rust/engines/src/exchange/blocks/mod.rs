//! Scored rounds in tasks: users stay in their blocks, and the driver has what they share.

mod block_users;
mod task;
mod weigh_blocks;

pub use block_users::BlockUsers;
pub use weigh_blocks::WeighBlocks;
