//! Divides keys among shards, and makes codes of shard and local code.

use dpsel_exact::random::Digest;

/// A code is `local << bits | shard`. Codes of interned keys grow in the order of first appearance, so frequent keys have
/// small codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sharding {
    bits: u32,
}

impl Sharding {
    /// The largest number of shards.
    pub(crate) const MOST: usize = 256;

    /// The number of shards for some threads. With four for each thread, threads seldom wait for each other, and a
    /// batch has many keys for each shard.
    pub(crate) fn for_threads(threads: usize) -> Self {
        Self { bits: (4 * threads.max(1)).next_power_of_two().min(Self::MOST).ilog2() }
    }

    /// Number of shards.
    pub(crate) fn shards(self) -> usize {
        1 << self.bits
    }

    /// The most keys of one shard. Codes fit 32 bits.
    pub(crate) fn capacity(self) -> usize {
        (1 << (32 - self.bits)) - 1
    }

    /// The code of a local code of a shard.
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 256 shards")]
    pub(crate) fn code(self, shard: usize, local: u32) -> u32 {
        local << self.bits | shard as u32
    }

    /// All codes are below this, if shards have so many keys.
    pub(crate) fn code_bound(self, keys: impl Iterator<Item = usize>) -> usize {
        // Otherwise: without shards there are no codes.
        keys.max().unwrap_or(0) * self.shards()
    }

    /// The shard of a code.
    pub(crate) fn shard_of_code(self, code: u32) -> usize {
        code as usize & (self.shards() - 1)
    }

    /// The local code inside the shard.
    pub(crate) fn local_of_code(self, code: u32) -> usize {
        (code >> self.bits) as usize
    }

    /// The shard of a key.
    #[inline]
    pub(super) fn shard_of_digest(self, digest: Digest) -> u8 {
        let [.., top] = digest.0.to_le_bytes();
        top & (u8::MAX >> (u8::BITS - self.bits))
    }
}
