//! One shard of an interner: a hash table from digests to dense local codes.
//!
//! A key is represented by its 128-bit keyed digest. Equal digests mean equal keys (`random::Digest`), so no key bytes
//! are compared. A slot holds 32 bits of the digest and a local code. A hit is confirmed on the whole digest.

use std::hint::black_box;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::random::Digest;
use crate::runtime::memory::{Element, Growing, Room};
use crate::{Error, Result};

/// Keys looked up together, so that their cache misses overlap.
const AHEAD: usize = 256;
/// Marks a key that was not found in its home bucket. Every local code is smaller.
const NOT_SEEN: u32 = u32::MAX;
/// Slots of a bucket: eight tags and eight local codes fill one cache line.
const SLOTS: usize = 8;

/// The slots with the same home. A slot holds the tag (32 bits of the digest) and the local code plus one. Zero marks a
/// free slot. Slots are filled in order.
#[derive(Debug, Clone, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Bucket {
    tags: [u32; SLOTS],
    locals: [u32; SLOTS],
}

impl Element for Bucket {}

/// The keys of one shard, with a record of type `R` for each distinct key.
///
/// The leading bits of a key's tag select its home bucket. If the home is full, the key goes to the next bucket with a
/// free slot.
#[derive(Debug)]
pub(crate) struct Shard<R> {
    buckets: Growing<Bucket>,
    digests: Growing<u128>,
    /// So many local codes belong to keys that are never interned. Their digests are set in the end, and those without a
    /// key stay zero.
    reserved: usize,
    pub(crate) records: R,
}

/// The record that is stored with each distinct key.
pub(crate) trait Records<Source> {
    /// Append the records of new keys, which stand in these rows.
    fn append(&mut self, source: &Source, rows: impl ExactSizeIterator<Item = usize> + Clone);
    /// Bytes held.
    fn bytes(&self) -> usize;
}

impl<R> Shard<R> {
    pub(crate) fn new(records: R) -> Self {
        Self { buckets: Growing::default(), digests: Growing::default(), reserved: 0, records }
    }

    /// Keep the first local codes for keys that are never interned. The shard is empty so far. `more` keys may follow without
    /// copying the digests, if the system gives so many addresses.
    pub(super) fn reserve(&mut self, locals: usize, more: usize) {
        self.digests = Growing::zeroed(locals, more);
        self.reserved = locals;
    }

    /// Set the digest of a key that is never interned.
    pub(super) fn set_reserved(&mut self, local: usize, digest: u128) {
        self.digests.as_mut_slice()[local] = digest;
    }

    /// Digests in order of local codes.
    pub(crate) fn digests(&self) -> &[u128] {
        self.digests.as_slice()
    }

    /// All local codes are below this.
    pub(crate) fn len(&self) -> usize {
        self.digests.len()
    }

    /// Number of keys that were interned.
    pub(super) fn interned(&self) -> usize {
        self.digests.len().saturating_sub(self.reserved)
    }

    /// The local codes of up to [`AHEAD`] keys that are in their home buckets; [`NOT_SEEN`] for the other keys.
    ///
    /// Three short loops first read the memory and do nothing else. No branch depends on the values, and few
    /// instructions stand between the reads, so the processor overlaps many of them. The following loops find everything
    /// in the cache. The second short loop reads the bucket after a full home, which [`Group::add`] will need.
    #[expect(clippy::cast_possible_truncation, reason = "local codes fit 32 bits, see `Sharding::capacity`")]
    fn look_up(&self, keys: &[Digest], found: &mut [u32; AHEAD]) {
        let (buckets, digests) = (self.buckets.as_slice(), self.digests.as_slice());
        let Some(last) = digests.len().checked_sub(1).filter(|_| !buckets.is_empty()) else {
            return found.fill(NOT_SEEN);
        };
        let mut homes = [0; AHEAD];
        for (h, key) in homes.iter_mut().zip(keys) {
            *h = home(tag(*key), buckets.len());
        }
        black_box(homes[..keys.len()].iter().fold(0, |mixed, h| mixed ^ buckets[*h].tags[0]));
        for ((f, key), h) in found.iter_mut().zip(keys).zip(&mut homes) {
            let bucket = &buckets[*h];
            *f = bucket.candidate(tag(*key)).wrapping_sub(1).min(last as u32);
            *h += usize::from(bucket.locals[SLOTS - 1] != 0);
        }
        let end = buckets.len() - 1;
        black_box(homes[..keys.len()].iter().fold(0, |mixed, h| mixed ^ buckets[(*h).min(end)].tags[0]));
        black_box(found[..keys.len()].iter().fold(0, |mixed, f| mixed ^ digests[*f as usize] as u64));
        for (f, key) in found.iter_mut().zip(keys) {
            *f |= u32::from(digests[*f as usize] != key.0).wrapping_neg();
        }
    }

    /// Write the local code of key i to `locals[i]`. The record of a new key i comes from row `rows(i)` of `source`.
    pub(crate) fn intern<Source>(
        &mut self,
        keys: &[Digest],
        (source, rows): (&Source, impl Fn(usize) -> usize),
        capacity: usize,
        locals: &mut [u32],
    ) -> Result<()>
    where
        R: Records<Source>,
    {
        let mut found = [NOT_SEEN; AHEAD];
        let mut fresh = Vec::with_capacity(AHEAD);
        for (chunk, (keys, locals)) in keys.chunks(AHEAD).zip(locals.chunks_mut(AHEAD)).enumerate() {
            self.look_up(keys, &mut found);
            while (self.interned() + keys.len()) * 4 >= self.buckets.as_slice().len() * SLOTS * 3 {
                self.grow();
            }
            let (buckets, digests) = (self.buckets.as_mut_slice(), self.digests.room(keys.len()));
            let mut group = Group { buckets, digests };
            fresh.clear();
            for (i, (&key, local)) in keys.iter().zip(locals).enumerate() {
                let before = group.digests.len();
                *local = if found[i] == NOT_SEEN { group.add(key, capacity)? } else { found[i] };
                if group.digests.len() > before {
                    fresh.push(rows(chunk * AHEAD + i));
                }
            }
            self.records.append(source, fresh.iter().copied());
        }
        Ok(())
    }

    /// Double the buckets, in place.
    ///
    /// Doubling the number of buckets doubles the position of each home. Buckets are moved from the last to the first,
    /// so entries move to buckets that are already empty. Nothing is accessed at random, and no second table is needed.
    /// The few entries that find no place this way are moved at the end.
    fn grow(&mut self) {
        let old = self.buckets.len();
        self.buckets.extend(std::iter::repeat_n(Bucket::default(), old.max(4)));
        let buckets = self.buckets.as_mut_slice();
        let mut late = Vec::new();
        for at in (0..old).rev() {
            let bucket = std::mem::take(&mut buckets[at]);
            // Nearly all entries go to one of two buckets that have room.
            let mut filled = [buckets[2 * at].filled(), buckets[2 * at + 1].filled()];
            for (tag, local) in bucket.tags.into_iter().zip(bucket.locals).take(bucket.filled()) {
                let home = home(tag, buckets.len());
                if home / 2 == at && filled[home % 2] < SLOTS {
                    buckets[home].set(filled[home % 2], tag, local);
                    filled[home % 2] += 1;
                } else if place(buckets, at, tag, local) {
                    filled = [buckets[2 * at].filled(), buckets[2 * at + 1].filled()];
                } else {
                    late.push((tag, local));
                }
            }
        }
        for (tag, local) in late {
            // The table is less than half full, so one of the two calls finds a place.
            let _ = place(buckets, 0, tag, local) || place_from(buckets, 0, tag, local);
        }
    }

    /// Free the memory that only interning needs.
    pub(crate) fn close(&mut self) {
        self.buckets = Growing::default();
    }

    /// Bytes held.
    pub(crate) fn bytes<Source>(&self) -> usize
    where
        R: Records<Source>,
    {
        self.buckets.bytes() + self.interned() * size_of::<Digest>() + self.records.bytes()
    }
}

/// A shard with room for a group of keys.
struct Group<'a> {
    buckets: &'a mut [Bucket],
    digests: Room<'a, u128>,
}

impl Group<'_> {
    /// The local code of a key that may be new.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "local codes fit 32 bits, see `Sharding::capacity`")]
    fn add(&mut self, key: Digest, capacity: usize) -> Result<u32> {
        let mut at = home(tag(key), self.buckets.len());
        loop {
            let (bucket, local) = (&mut self.buckets[at], self.digests.len());
            if bucket.candidate(tag(key)) != 0
                && let Some(local) = bucket.find(key, self.digests.elements())
            {
                return Ok(local);
            }
            let filled = bucket.filled();
            if filled < SLOTS {
                if local >= capacity {
                    return Err(Error::Capacity { what: "distinct keys", limit: 1 << 32 });
                }
                bucket.set(filled, tag(key), local as u32 + 1);
                self.digests.push(key.0);
                return Ok(local as u32);
            }
            at = (at + 1) % self.buckets.len();
        }
    }
}

/// 32 bits of the digest. The shard depends on other bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the tag is the low bits")]
fn tag(digest: Digest) -> u32 {
    digest.0 as u32
}

/// Put an entry into its home bucket or the next bucket with a free slot. False if the home is before `first`, or if
/// there is no free slot.
fn place(buckets: &mut [Bucket], first: usize, tag: u32, local: u32) -> bool {
    let home = home(tag, buckets.len());
    home >= first && place_from(buckets, home, tag, local)
}

/// Put an entry into the first bucket with a free slot, starting at `from`. False if there is none.
fn place_from(buckets: &mut [Bucket], from: usize, tag: u32, local: u32) -> bool {
    let free = buckets[from..].iter_mut().find(|bucket| bucket.locals[SLOTS - 1] == 0);
    if let Some(bucket) = free {
        bucket.set(bucket.filled(), tag, local);
        return true;
    }
    false
}

/// The home bucket of a tag, from its leading bits.
#[inline]
fn home(tag: u32, buckets: usize) -> usize {
    (u64::from(tag).wrapping_mul(buckets as u64) >> 32) as usize
}

impl Bucket {
    /// The local code plus one of the slot with this tag; 0 if there is none. If several slots have the tag, the result
    /// is meaningless, and the comparison of digests rejects it. So no branch is needed.
    #[inline]
    fn candidate(&self, tag: u32) -> u32 {
        self.tags
            .iter()
            .zip(&self.locals)
            .fold(0, |any, (t, l)| any | (u32::from(*t == tag).wrapping_neg() & l))
    }

    /// The local code of the slot with this digest.
    #[cold]
    fn find(&self, key: Digest, digests: &[u128]) -> Option<u32> {
        let slots = self.tags.iter().zip(self.locals).take(self.filled());
        let mut alike = slots.filter(|(t, _)| **t == tag(key)).map(|(_, local)| local - 1);
        alike.find(|local| digests[*local as usize] == key.0)
    }

    /// Number of slots in use.
    #[inline]
    fn filled(&self) -> usize {
        self.locals.iter().fold(0_u32, |sum, local| sum.wrapping_add(u32::from(*local != 0))) as usize
    }

    #[inline]
    fn set(&mut self, slot: usize, tag: u32, local: u32) {
        (self.tags[slot], self.locals[slot]) = (tag, local);
    }
}
