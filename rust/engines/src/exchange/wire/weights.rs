//! The wire format of weights: a packed weight is a digest and an integer of variable length.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use super::batches::BucketedValues;
use super::buckets::{Buckets, TO_DRIVER};
use super::bytes::{VALUE_BYTES, push_digest, push_integer, take_digest, take_integer};

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
        weights.push((take_digest(&mut packed)?, take_integer(&mut packed)?));
    }
    Ok(())
}

/// Pack weights by the buckets of their items.
pub(crate) fn pack_by_bucket(weights: Vec<(Digest, u64)>, buckets: Buckets) -> BucketedValues {
    let with_bucket = weights.into_iter().map(|(item, weight)| (buckets.of(item), item, weight));
    let mut order: Vec<(i32, Digest, u64)> = with_bucket.collect();
    order.sort_unstable_by_key(|(bucket, ..)| *bucket);
    let mut made = BucketedValues::default();
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        push_all(group[0].0, group.iter().map(|(_, item, weight)| (*item, *weight)), &mut made);
    }
    made
}

/// Pack weights for the driver.
pub(crate) fn pack_for_driver(weights: &[(Digest, u64)]) -> BucketedValues {
    let mut made = BucketedValues::default();
    push_all(TO_DRIVER, weights.iter().copied(), &mut made);
    made
}

fn push_all(bucket: i32, weights: impl Iterator<Item = (Digest, u64)>, made: &mut BucketedValues) {
    let mut packed = Vec::new();
    for (item, weight) in weights {
        push_weight(item, weight, &mut packed);
        if packed.len() >= VALUE_BYTES {
            made.push(bucket, std::mem::take(&mut packed));
        }
    }
    if !packed.is_empty() {
        made.push(bucket, packed);
    }
}
