//! Maps and sums that are keyed by digests.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use dpsel_exact::random::Digest;
use num_traits::SaturatingAdd;

/// A map from item hashes or digests.
pub(crate) type HashedMap<K, T> = HashMap<K, T, BuildHasherDefault<DigestHasher>>;
/// A map from digests.
pub(crate) type ByDigest<T> = HashedMap<Digest, T>;
/// A set of digests.
pub(super) type DigestSet = HashSet<Digest, BuildHasherDefault<DigestHasher>>;

/// Digests are pseudorandom, so they are their own hash. So are 32 bits of a digest, copied to both halves of the hash.
#[derive(Debug, Default)]
pub(crate) struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u32(&mut self, bits: u32) {
        self.0 = u64::from(bits) << 32 | u64::from(bits);
    }

    #[expect(clippy::cast_possible_truncation, reason = "half of the bits are enough")]
    fn write_u128(&mut self, digest: u128) {
        self.0 = digest as u64;
    }
}

/// Sort by key, and replace the entries of each key by one entry with their sum.
pub(crate) fn add_up<K: Ord + Copy, N: SaturatingAdd>(parts: &mut Vec<(K, N)>) {
    parts.sort_unstable_by_key(|(key, _)| *key);
    parts.dedup_by(|next, sum| {
        let same = next.0 == sum.0;
        if same {
            sum.1 = sum.1.saturating_add(&next.1);
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_at_the_largest_number() {
        let mut sums = vec![(2, 3), (1, u64::MAX), (2, 4), (1, 5), (0, 0)];
        add_up(&mut sums);
        assert_eq!(sums, [(0, 0), (1, u64::MAX), (2, 7)]);
    }
}
