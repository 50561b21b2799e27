//! The wire format: the data between stages, as bytes and as Arrow batches.
//!
//! Stages on rows and stages on items both use it, and it knows neither.

mod batches;
mod buckets;
mod candidate_lists;
mod contributions;
mod decisions;
mod dictionary;
mod digest_maps;
mod released_set;
mod seal;
mod shared_items;
#[cfg(test)]
mod tests;
mod user_counts;
mod user_lists;
mod weights;

pub(crate) use batches::{BucketedValues, VALUE_BYTES, bucketed_batch, bucketed_values, packed_batch};
pub(crate) use buckets::{BucketRuns, Buckets, TO_DRIVER};
pub(crate) use candidate_lists::{push_dictionary, take_dictionary};
pub(crate) use contributions::{PackedUsers, Packer, unpack};
pub use decisions::Decisions;
pub(crate) use dictionary::Dictionaries;
pub(crate) use digest_maps::{ByDigest, add_up};
pub use released_set::ReleasedSet;
pub use seal::Packed;
pub(crate) use shared_items::{
    PartContents, each_pair, each_part, pack_pairs, pack_states, pack_sums, unpack_states,
};
pub use user_counts::UserCounts;
pub(crate) use user_counts::{each_frequent, item_hash, pack_user_counts, push_frequent, unpack_user_counts};
pub(crate) use user_lists::Lister;
pub(crate) use weights::{pack_by_bucket, push_weight, unpack_weights};
