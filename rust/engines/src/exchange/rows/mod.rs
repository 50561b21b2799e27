//! Stages on rows: they take rows of the table, or users with their items, and send their results to the stages on
//! items.

mod batcher;
mod bucket;
mod candidates;
mod count;
mod count_released;
mod encode;
mod filter_candidates;
mod gather;
mod lengths;
mod name;
mod prune;
mod pruned_users;
mod rest;
mod take_out;
mod weigh;
mod weights;

pub(crate) use batcher::one_thread;
pub(crate) use bucket::BucketUsers;
pub(crate) use candidates::Chances;
pub use count::Count;
pub use count_released::CountReleased;
pub use encode::Encode;
pub(crate) use encode::Packing;
pub use filter_candidates::FilterCandidates;
pub use gather::{Gather, OnUsers};
pub use lengths::Lengths;
pub(crate) use name::DIGEST;
pub use name::Name;
pub use prune::Prune;
pub(crate) use prune::{NO_CODE, Pruner};
pub(crate) use pruned_users::{CandidateSums, PackedPruned, PrunedUsers};
pub(crate) use rest::CountRest;
pub use take_out::TakeOut;
pub(crate) use take_out::packed_again;
pub use weigh::Weigh;
pub(crate) use weights::Weights;
