//! The wire format of weights: a packed weight is a digest and an integer of variable length.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use super::batches::{BucketedValues, VALUE_BYTES};
use super::buckets::Buckets;
use dpsel_exact::random::bytes::{push_digest, push_integer, take_digest, take_integer};

/// Append one packed weight.
pub(crate) fn push_weight(item: Digest, weight: u64, packed: &mut Vec<u8>) {
    push_digest(item, packed);
    push_integer(weight, packed);
}

/// Append the weights of a packed value to `weights`.
///
/// # Errors
/// [`Error::Internal`] if the value is damaged, as in the functions below.
pub(crate) fn unpack_weights(mut packed: &[u8], weights: &mut Vec<(Digest, u64)>) -> Result<()> {
    while !packed.is_empty() {
        weights.push(take_weight(&mut packed)?);
    }
    Ok(())
}

/// Take one packed weight off the front.
pub(super) fn take_weight(packed: &mut &[u8]) -> Result<(Digest, u64)> {
    Ok((take_digest(packed)?, take_integer(packed)?))
}

/// Pack weights by the buckets of their items.
pub(crate) fn pack_by_bucket(mut weights: Vec<(Digest, u64)>, buckets: Buckets) -> BucketedValues {
    weights.sort_unstable_by_key(|(item, _)| buckets.of(*item));
    let mut made = BucketedValues::default();
    for group in weights.chunk_by(|a, b| buckets.of(a.0) == buckets.of(b.0)) {
        made.push_weights(buckets.of(group[0].0), group);
    }
    made
}

impl BucketedValues {
    /// Add weights that go to one bucket.
    pub(crate) fn push_weights(&mut self, bucket: i32, weights: &[(Digest, u64)]) {
        let mut packed = Vec::new();
        for (item, weight) in weights {
            push_weight(*item, *weight, &mut packed);
            if packed.len() >= VALUE_BYTES {
                self.push(bucket, std::mem::take(&mut packed));
            }
        }
        if !packed.is_empty() {
            self.push(bucket, packed);
        }
    }
}
