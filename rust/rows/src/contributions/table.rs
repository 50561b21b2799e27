//! The hash table of a shard: from digests to numbers, with four bytes for each slot.
//!
//! The keys of a shard are numbered from one. 28 bits of a digest tell where its key is. In a table of `2^b` buckets, the
//! leading `b` bits name the home bucket. The next `28 - b` bits are the tag. A slot holds the tag above `b + 4` bits for
//! the number. A table has more slots than keys, so each number fits.
//!
//! Home and slot together always tell 28 bits of the digest. When the table doubles, the first bit of each tag becomes
//! the last bit of the home, and the numbers get its place. So only the bucket itself is read.
//!
//! The few keys whose home is full are in a map beside the buckets.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;

use dpsel_exact::random::Digest;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::runtime::memory::{Element, Growing};

#[cfg(test)]
mod tests;

/// Keys looked up together, so that their cache misses overlap.
pub(super) const AHEAD: usize = 256;
/// Slots of a bucket, which fill one cache line.
const SLOTS: usize = 16;
/// A table doubles before it has so many keys for each bucket. Then 5 % of the buckets are full, and 0.5 % of the keys are
/// in the overflow. With 11 it would be 9 % and 1.1 %, and adding keys would take 3 ns more.
const FILL: usize = 10;
/// Buckets of the first table. A power of two.
const FIRST: usize = 4;

/// The slots with the same home. Zero marks a free slot. Slots are filled in order.
#[derive(Debug, Clone, Copy, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(64))]
struct Bucket([u32; SLOTS]);

impl Element for Bucket {}

/// A table of numbers by digest.
///
/// A key stands in the overflow only if its home is full.
#[derive(Debug, Default)]
pub(super) struct Table {
    buckets: Growing<Bucket>,
    overflow: Overflow,
}

/// Numbers of the keys whose home is full.
type Overflow = HashMap<u128, u32, BuildHasherDefault<Middle>>;

/// Digests are pseudorandom, so some of their bits do as a hash: those that choose neither the shard nor the home.
#[derive(Debug, Default)]
struct Middle(u64);

impl Hasher for Middle {
    #[expect(clippy::cast_possible_truncation, reason = "64 of the bits are meant")]
    fn write_u128(&mut self, digest: u128) {
        self.0 = (digest >> 32) as u64;
    }

    /// The trait demands it. Only digests are hashed here.
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A table with room for some keys.
pub(super) struct Filling<'a> {
    buckets: &'a mut [Bucket],
    overflow: &'a mut Overflow,
    layout: Layout,
}

/// How the bits of a digest and of a slot are divided in a table of some size.
///
/// There are at most `2^27` buckets, so a tag has at least one bit: a shard has fewer than `2^30` keys
/// (`Sharding::capacity`).
#[derive(Debug, Clone, Copy)]
struct Layout {
    buckets: usize,
    /// The bits of a slot that hold the number. The others hold the tag.
    numbers: u32,
}

impl Table {
    /// The numbers of up to [`AHEAD`] keys, as far as they are in their home buckets. Other keys get any number or zero.
    /// So may keys that share home and tag with another. The comparison of digests rejects these.
    ///
    /// The second loop reads the memory and does nothing else. No branch depends on the values, and few instructions
    /// stand between the reads, so the processor overlaps many of them. The last loop finds everything in the cache.
    pub(super) fn candidates(&self, keys: &[Digest], found: &mut [u32; AHEAD]) {
        let buckets = self.buckets.as_slice();
        if buckets.is_empty() {
            return found.fill(0);
        }
        let layout = Layout::of(buckets.len());
        let mut homes = [0; AHEAD];
        for (home, key) in homes.iter_mut().zip(keys) {
            *home = layout.home_and_tag(*key).0;
        }
        let homes = &homes[..keys.len()];
        black_box(homes.iter().fold(0, |mixed, home| mixed ^ buckets[*home].0[0]));
        for ((number, key), home) in found.iter_mut().zip(keys).zip(homes) {
            *number = buckets[*home].candidate(layout.home_and_tag(*key).1, layout.numbers);
        }
    }

    /// Double until there is room for so many keys.
    pub(super) fn make_room(&mut self, keys: usize) {
        while keys >= self.buckets.len() * FILL {
            self.double();
        }
    }

    /// The table, to add keys for which there is room.
    pub(super) fn filling(&mut self) -> Filling<'_> {
        let buckets = self.buckets.as_mut_slice();
        Filling { layout: Layout::of(buckets.len()), buckets, overflow: &mut self.overflow }
    }

    /// Double the buckets, in place.
    ///
    /// The entries of a bucket go to the two buckets with twice its position, which have room for all. Buckets are
    /// divided from the last to the first, so these two were divided before. Nothing is read at random, and no second
    /// table is needed.
    fn double(&mut self) {
        let old = self.buckets.len();
        if old == 0 {
            return self.buckets.extend(std::iter::repeat_n(Bucket::default(), FIRST));
        }
        self.buckets.lengthen(old);
        let buckets = self.buckets.as_mut_slice();
        let layout = Layout::of(old);
        for at in (0..old).rev() {
            [buckets[2 * at], buckets[2 * at + 1]] = buckets[at].divided(layout.numbers);
        }
        let mut filling = self.filling();
        // Taking all out at once keeps the capacity, unlike taking them out one by one.
        let all: Vec<_> = filling.overflow.drain().collect();
        let late = all.into_iter().filter(|(digest, number)| !filling.put(Digest(*digest), *number));
        let late: Vec<_> = late.collect();
        self.overflow.extend(late);
    }

    /// Bytes held. They never become fewer: the map keeps its memory.
    pub(super) fn bytes(&self) -> usize {
        // An entry of the map takes a byte more. An eighth of its places stay free.
        self.buckets.bytes() + self.overflow.capacity() * (size_of::<(u128, u32)>() + 1) * 8 / 7
    }
}

impl Filling<'_> {
    /// The number of a key. `known` has the digests of all numbers. A new key gets the number `next`; `None` if there is
    /// none left.
    #[inline]
    pub(super) fn number(&mut self, key: Digest, known: &[u128], next: Option<u32>) -> Option<u32> {
        let (home, tag) = self.layout.home_and_tag(key);
        let (bucket, numbers) = (&mut self.buckets[home], self.layout.numbers);
        if bucket.candidate(tag, numbers) != 0 {
            let found = bucket.find(tag, numbers, |number| known[number as usize - 1] == key.0);
            if found.is_some() {
                return found;
            }
        }
        let filled = bucket.filled();
        if filled == SLOTS {
            return self.number_in_overflow(key, next);
        }
        bucket.0[filled] = tag | next?;
        next
    }

    /// The number of a key whose home is full.
    #[cold]
    fn number_in_overflow(&mut self, key: Digest, next: Option<u32>) -> Option<u32> {
        match self.overflow.entry(key.0) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => Some(*entry.insert(next?)),
        }
    }

    /// Put a key into its home. False if that is full.
    fn put(&mut self, key: Digest, number: u32) -> bool {
        let (home, tag) = self.layout.home_and_tag(key);
        let free = self.buckets[home].0.iter_mut().find(|slot| **slot == 0);
        free.map(|slot| *slot = tag | number).is_some()
    }
}

impl Layout {
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^31 slots")]
    fn of(buckets: usize) -> Self {
        Self { buckets, numbers: (buckets * SLOTS).wrapping_sub(1) as u32 }
    }

    /// The home bucket of a key, and its tag in the bits of a slot where the tag stands.
    ///
    /// 28 of the low 32 bits of a digest tell both. The shard depends on other bits.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the parts of the product are taken apart")]
    fn home_and_tag(self, key: Digest) -> (usize, u32) {
        // The number of buckets is a power of two. So the leading bits move to the upper half, and the next ones up.
        let moved = u64::from(key.0 as u32).wrapping_mul(self.buckets as u64);
        ((moved >> 32) as usize, moved as u32 & !self.numbers)
    }
}

impl Bucket {
    /// The number of the slot with this tag; 0 if there is none. If several slots have the tag, the result is
    /// meaningless, and the comparison of digests rejects it. So no branch is needed.
    #[inline]
    fn candidate(&self, tag: u32, numbers: u32) -> u32 {
        let alike = |slot: u32| u32::from(slot & !numbers == tag).wrapping_neg();
        self.0.iter().fold(0, |any, slot| any | (alike(*slot) & slot)) & numbers
    }

    /// The number of the slot with this tag that belongs to a key.
    #[cold]
    fn find(&self, tag: u32, numbers: u32, belongs: impl Fn(u32) -> bool) -> Option<u32> {
        let mut used = self.0.iter().take_while(|slot| **slot != 0);
        used.find(|slot| **slot & !numbers == tag && belongs(**slot & numbers)).map(|slot| slot & numbers)
    }

    /// Number of slots in use.
    #[inline]
    fn filled(&self) -> usize {
        self.0.iter().fold(0_u32, |sum, slot| sum.wrapping_add(u32::from(*slot != 0))) as usize
    }

    /// The two buckets that follow when the table doubles. So far, `numbers` are the bits of a slot that hold the number.
    ///
    /// There is no branch, as the bits of digests cannot be predicted. Each slot is written to both halves and counted in
    /// one, so the next slot of the other half overwrites it. Free slots stand behind all others and stay zero.
    fn divided(self, numbers: u32) -> [Self; 2] {
        let ([mut lower, mut upper], mut filled) = ([Self::default(); 2], [0, 0]);
        for slot in self.0 {
            let (moved, half) = ((slot & !numbers) << 1 | slot & numbers, (slot >> 31) as usize);
            (lower.0[filled[0]], upper.0[filled[1]]) = (moved, moved);
            filled = [filled[0] + 1 - half, filled[1] + half];
        }
        for (half, filled) in [(&mut lower, filled[0]), (&mut upper, filled[1])] {
            if let Some(last) = half.0.get_mut(filled) {
                *last = 0;
            }
        }
        [lower, upper]
    }
}
