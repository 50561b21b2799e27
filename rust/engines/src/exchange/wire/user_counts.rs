//! User counts: how many users hold an item, by item hash.
//!
//! An item hash is 32 bits of the digest, so several items may share one. Tasks send the counts of all their items, in
//! ascending order of the hash, as differences between hashes. The counts of frequent items come back to every task.

use std::sync::Arc;

use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use super::batches::BucketedValues;
use super::buckets::Buckets;
use super::digest_maps::{HashedMap, add_up};
use dpsel_exact::random::bytes::{CORRUPT, push_integer, take_integer, take_u32};

/// The item hash: 32 bits of a digest that do not decide its bucket.
pub(crate) fn item_hash(item: Digest) -> u32 {
    (item.0 >> 96) as u32
}

/// Pack the user counts of items, by item hash. Their buckets are negative, to tell them from buckets of users:
/// -1, -2, and so on.
pub(crate) fn pack_user_counts(
    counts: impl Iterator<Item = (Digest, u32)>,
    buckets: Buckets,
) -> BucketedValues {
    let mut counts: Vec<(u32, u32)> = counts.map(|(item, users)| (item_hash(item), users)).collect();
    add_up(&mut counts);
    let mut made = BucketedValues::default();
    let bucket = |(hash, _): &(u32, u32)| buckets.of_bits(*hash);
    for group in counts.chunk_by(|a, b| bucket(a) == bucket(b)) {
        let (mut packed, mut before) = (Vec::new(), 0);
        for &(hash, users) in group {
            push_count(hash - before, users, &mut packed);
            before = hash;
        }
        made.push(-1 - bucket(&group[0]), packed);
    }
    made
}

/// Append the item hashes and user counts that [`pack_user_counts`] packed.
///
/// # Errors
/// [`Error::Internal`] if they are damaged.
pub(crate) fn unpack_user_counts(mut packed: &[u8], counts: &mut Vec<(u32, u32)>) -> Result<()> {
    let mut hash = 0_u32;
    while !packed.is_empty() {
        let (difference, users) = take_count(&mut packed)?;
        hash = hash.checked_add(difference).ok_or(Error::Internal("an item hash beyond 32 bits"))?;
        counts.push((hash, users));
    }
    Ok(())
}

/// Append the difference to the item hash before and a number of users. The number is mostly 1, which takes no byte.
fn push_count(difference: u32, users: u32, packed: &mut Vec<u8>) {
    push_integer(u64::from(difference) << 1 | u64::from(users > 1), packed);
    if users > 1 {
        push_integer(users.into(), packed);
    }
}

fn take_count(rest: &mut &[u8]) -> Result<(u32, u32)> {
    let difference = take_integer(rest)?;
    let users = if difference & 1 == 1 { take_integer(rest)? } else { 1 };
    Ok((u32::try_from(difference >> 1).map_err(|_| CORRUPT)?, u32::try_from(users).map_err(|_| CORRUPT)?))
}

/// Append the item hash of a frequent item, and its number of users.
pub(crate) fn push_frequent(hash: u32, users: u32, packed: &mut Vec<u8>) {
    packed.extend(hash.to_le_bytes());
    push_integer(users.into(), packed);
}

/// Hand out the item hash of each frequent item, and its number of users.
///
/// # Errors
/// [`Error::Internal`] if they are damaged.
pub(crate) fn each_frequent(mut packed: &[u8], mut each: impl FnMut(u32, u32)) -> Result<()> {
    while !packed.is_empty() {
        let hash = take_u32(&mut packed)?;
        each(hash, take_integer(&mut packed)?.try_into().map_err(|_| CORRUPT)?);
    }
    Ok(())
}

/// An upper bound of the number of users of every item.
#[derive(Debug, Clone)]
pub struct UserCounts {
    frequent_above: u32,
    /// Shared by the tasks of a process.
    frequent: Arc<HashedMap<u32, u32>>,
}

impl UserCounts {
    /// Read the counts of frequent items: those with more than `frequent_above` users.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged.
    pub fn unpack(frequent_above: u32, packed: &[u8]) -> Result<Self> {
        let mut frequent = HashedMap::default();
        each_frequent(packed, |hash, users| {
            frequent.insert(hash, users);
        })?;
        Ok(Self { frequent_above, frequent: frequent.into() })
    }

    /// The most users that the item can have.
    pub(crate) fn at_most(&self, item: Digest) -> u32 {
        // Otherwise: the item is not frequent, so it has at most this number of users.
        self.frequent.get(&item_hash(item)).copied().unwrap_or(self.frequent_above)
    }
}
