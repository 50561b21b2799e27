//! The wire format: the data between stages, as bytes and as Arrow batches.
//!
//! Stages on rows and stages on items both use it, and it knows neither.

mod batches;
mod bloom;
mod by_digest;
mod bytes;
mod candidate_lists;
mod contributions;
mod decisions;
mod dictionary;
mod listed;
mod packed;
mod partitions;
mod released_set;
mod shared_items;
#[cfg(test)]
mod tests;
mod user_counts;
mod weights;

pub(crate) use batches::{PartitionedValues, packed_batch, partitioned_batch, partitioned_values};
pub(crate) use by_digest::{ByDigest, add_up};
pub(crate) use bytes::{VALUE_BYTES, push_digest, take_digest, take_u32};
pub(crate) use candidate_lists::{push_dictionary, take_dictionary};
pub(crate) use contributions::{PackedUsers, Packer, take_items, unpack};
pub use decisions::Decisions;
pub(crate) use dictionary::Dictionaries;
pub(crate) use listed::Lister;
pub use packed::Packed;
pub(crate) use partitions::{PartitionRuns, Partitions, TO_DRIVER};
pub use released_set::ReleasedSet;
pub(crate) use shared_items::{PartContents, SharedStates, each_part, each_sum, pack_sums};
pub use user_counts::UserCounts;
pub(crate) use user_counts::{each_frequent, item_hash, pack_user_counts, push_frequent, unpack_user_counts};
pub(crate) use weights::{pack_by_partition, pack_for_driver, push_weight, unpack_weights};
