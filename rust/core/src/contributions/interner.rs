//! Interning: digests to dense codes, in shards that several threads fill at once.
//!
//! A key is its 128-bit keyed digest: equal digests are equal keys (`random::Digest`), so no key bytes are
//! compared. The slots of a shard hold 32 bits of the digest and a local code; a hit is confirmed on the whole digest.

use std::hint::black_box;
use std::sync::Mutex;

use crate::memory::{Array, Growing};
use crate::random::Digest;
use crate::{Error, Result};

/// Keys looked up together, so that their cache misses overlap.
const AHEAD: usize = 64;
/// Says that a key was not found where it should be; no local code is as large.
const NOT_SEEN: u32 = u32::MAX;
/// Keys ordered by shard at a time: few enough to stay in the first-level caches, enough for every shard to get some.
const BLOCK: usize = 8192;

/// How keys are divided among shards, and codes made of shard and local code.
///
/// A code is `local << bits | shard`; codes grow with the order of first appearance, so that frequent keys have small
/// ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sharding {
    bits: u32,
}

impl Sharding {
    /// The most shards.
    pub(crate) const MOST: usize = 256;

    /// Enough shards that threads seldom meet, few enough that a batch has many keys for each.
    pub(crate) fn for_threads(threads: usize) -> Self {
        Self { bits: (4 * threads).next_power_of_two().min(Self::MOST).ilog2() }
    }

    /// Number of shards.
    pub(crate) fn shards(self) -> usize {
        1 << self.bits
    }

    /// Most keys of one shard: codes fit 32 bits, and one is left so that `local + 1` fits a slot's 32 bits.
    pub(crate) fn capacity(self) -> usize {
        (1 << (32 - self.bits)) - 1
    }

    /// The code of a local code of a shard.
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 256 shards")]
    pub(crate) fn code(self, shard: usize, local: u32) -> u32 {
        local << self.bits | shard as u32
    }

    /// The shard of a code.
    pub(crate) fn shard_of_code(self, code: u32) -> usize {
        code as usize & (self.shards() - 1)
    }

    /// The local code inside the shard.
    pub(crate) fn local_of_code(self, code: u32) -> usize {
        (code >> self.bits) as usize
    }

    fn shard_of_digest(self, digest: Digest) -> usize {
        (digest.0 >> 120) as usize & (self.shards() - 1)
    }
}

/// Slots of a bucket: eight tags and eight local codes fill one cache line.
const SLOTS: usize = 8;
/// Words of a bucket.
const WORDS: usize = 2 * SLOTS;

/// The keys of one shard, with a record of type `R` for each distinct key.
///
/// A key belongs into the bucket its digest names, or the next one with a free slot. A slot holds 32 bits of the digest,
/// its tag, and the local code plus one; zero is free. Buckets fill from their first slot on.
#[derive(Debug)]
pub(crate) struct Shard<R> {
    buckets: Array<u32>,
    digests: Growing<u128>,
    pub(crate) records: R,
}

/// What is kept beside each distinct key.
pub(crate) trait Records<Row> {
    /// A key was seen for the first time: append its record.
    fn append(&mut self, row: Row);
    /// Bytes held.
    fn bytes(&self) -> usize;
}

impl<R> Shard<R> {
    pub(crate) fn new(records: R) -> Self {
        Self { buckets: Array::default(), digests: Growing::default(), records }
    }

    /// Digests in order of local codes, from one of them on.
    pub(crate) fn digests_from(&self, local: usize) -> impl Iterator<Item = Digest> + '_ {
        self.digests.as_slice().get(local..).unwrap_or_default().iter().copied().map(Digest)
    }

    /// Digests in order of local codes.
    pub(crate) fn digests(&self) -> &[u128] {
        self.digests.as_slice()
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.digests.len()
    }

    /// The local codes of up to [`AHEAD`] keys that are in their own buckets; [`NOT_SEEN`] for the others.
    ///
    /// Memory is first read in two short loops that do nothing else. No branch depends on what is read and few
    /// instructions lie between the reads, so the processor has many of them under way at once; the loops that follow
    /// find everything in cache.
    #[expect(clippy::cast_possible_truncation, reason = "local codes fit 32 bits, see `Sharding::capacity`")]
    fn look_up(&self, keys: &[Digest], found: &mut [u32; AHEAD]) {
        let (buckets, digests) = (self.buckets.as_slice(), self.digests.as_slice());
        let Some(last) = digests.len().checked_sub(1) else {
            return found.fill(NOT_SEEN);
        };
        let mut homes = [0; AHEAD];
        for (h, key) in homes.iter_mut().zip(keys) {
            *h = home(*key, buckets.len());
        }
        black_box(homes[..keys.len()].iter().fold(0, |mixed, h| mixed ^ buckets[h * WORDS]));
        for ((f, key), h) in found.iter_mut().zip(keys).zip(homes) {
            *f = candidate(bucket(buckets, h), tag(*key)).wrapping_sub(1).min(last as u32);
        }
        black_box(found[..keys.len()].iter().fold(0, |mixed, f| mixed ^ digests[*f as usize]));
        for (f, key) in found.iter_mut().zip(keys) {
            if digests[*f as usize] != key.0 {
                *f = NOT_SEEN;
            }
        }
    }

    /// Write the local code of each key to the same place of `locals`; `row` gives the record of a new key by its
    /// place.
    pub(crate) fn intern<Row>(
        &mut self,
        keys: &[Digest],
        row: impl Fn(usize) -> Row,
        capacity: usize,
        locals: &mut [u32],
    ) -> Result<()>
    where
        R: Records<Row>,
    {
        let mut found = [NOT_SEEN; AHEAD];
        for (chunk, (keys, locals)) in keys.chunks(AHEAD).zip(locals.chunks_mut(AHEAD)).enumerate() {
            self.look_up(keys, &mut found);
            for (i, (&key, local)) in keys.iter().zip(locals).enumerate() {
                *local = match found[i] {
                    NOT_SEEN => self.add(key, || row(chunk * AHEAD + i), capacity)?,
                    seen => seen,
                };
            }
        }
        Ok(())
    }

    /// The local code of a digest, or the free word where its code plus one belongs.
    fn find(&self, digest: Digest) -> std::result::Result<u32, usize> {
        let (buckets, digests) = (self.buckets.as_slice(), self.digests.as_slice());
        let mut at = home(digest, buckets.len());
        loop {
            let (tags, locals) = bucket(buckets, at).split_at(SLOTS);
            for (slot, (t, local)) in tags.iter().zip(locals).enumerate() {
                if *local == 0 {
                    return Err(at * WORDS + slot);
                }
                if *t == tag(digest) && digests[*local as usize - 1] == digest.0 {
                    return Ok(*local - 1);
                }
            }
            at = (at + 1) & (buckets.len() / WORDS - 1);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "local codes fit 32 bits, see `Sharding::capacity`")]
    fn insert(&mut self, at: usize, digest: Digest, capacity: usize) -> Result<u32> {
        let local = self.digests.len();
        if local >= capacity {
            return Err(Error::Capacity { what: "distinct keys", limit: 1 << 32 });
        }
        self.digests.push(digest.0);
        set(self.buckets.as_mut_slice(), at, digest, local);
        if self.digests.len() * WORDS * 4 >= self.buckets.as_slice().len() * SLOTS * 3 {
            self.grow();
        }
        Ok(local as u32)
    }

    fn grow(&mut self) {
        let size = (self.buckets.as_slice().len() * 2).max(4 * WORDS);
        // Freed before the larger table is made: the slots can be rebuilt from the digests.
        self.buckets = Array::default();
        self.buckets = Array::zeroed(size);
        let buckets = self.buckets.as_mut_slice();
        for (local, &digest) in self.digests.as_slice().iter().enumerate() {
            let mut at = home(Digest(digest), size);
            let free = loop {
                if let Some(slot) = bucket(buckets, at)[SLOTS..].iter().position(|local| *local == 0) {
                    break at * WORDS + slot;
                }
                at = (at + 1) & (size / WORDS - 1);
            };
            set(buckets, free, Digest(digest), local);
        }
    }

    /// The local code of a key that may be new.
    fn add<Row>(&mut self, key: Digest, row: impl FnOnce() -> Row, capacity: usize) -> Result<u32>
    where
        R: Records<Row>,
    {
        if self.buckets.as_slice().is_empty() {
            self.grow();
        }
        match self.find(key) {
            Ok(local) => Ok(local),
            Err(at) => {
                self.records.append(row());
                self.insert(at, key, capacity)
            }
        }
    }

    /// Free what only interning needs.
    pub(crate) fn close(&mut self) {
        self.buckets = Array::default();
    }

    /// Bytes held.
    pub(crate) fn bytes<Row>(&self) -> usize
    where
        R: Records<Row>,
    {
        self.buckets.bytes() + self.digests.bytes() + self.records.bytes()
    }
}

/// The bucket to look at first: bits that neither the tag nor the shard uses.
fn home(digest: Digest, words: usize) -> usize {
    (digest.0 >> 32) as usize & (words / WORDS - 1)
}

/// 32 bits of the digest.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are meant")]
fn tag(digest: Digest) -> u32 {
    digest.0 as u32
}

fn bucket(buckets: &[u32], at: usize) -> &[u32] {
    &buckets[at * WORDS..][..WORDS]
}

/// The local code plus one of the first slot with this tag, 0 if there is none.
fn candidate(bucket: &[u32], tag: u32) -> u32 {
    let (tags, locals) = bucket.split_at(SLOTS);
    let matches = tags.iter().enumerate().fold(0_u32, |mask, (slot, t)| mask | u32::from(*t == tag) << slot);
    let slot = matches.trailing_zeros() as usize % SLOTS;
    if matches == 0 { 0 } else { locals[slot] }
}

#[expect(clippy::cast_possible_truncation, reason = "local codes fit 32 bits, see `Sharding::capacity`")]
fn set(buckets: &mut [u32], at: usize, digest: Digest, local: usize) {
    buckets[at] = tag(digest);
    buckets[at + SLOTS] = local as u32 + 1;
}

/// All shards.
#[derive(Debug)]
pub(crate) struct Interner<R> {
    shards: Vec<Mutex<Shard<R>>>,
    sharding: Sharding,
}

impl<R> Interner<R> {
    pub(crate) fn new(sharding: Sharding, records: impl Fn() -> R) -> Self {
        let shards = (0..sharding.shards()).map(|_| Mutex::new(Shard::new(records()))).collect();
        Self { shards, sharding }
    }

    pub(crate) fn into_shards(self) -> Result<Vec<Shard<R>>> {
        self.shards
            .into_iter()
            .map(|shard| {
                let mut shard = shard.into_inner().map_err(|_| POISONED)?;
                shard.close();
                Ok(shard)
            })
            .collect()
    }

    /// Write the code of each digest to the same place of `codes`; returns the growth in bytes. `row` gives the
    /// record of a new key by its place.
    pub(crate) fn intern<Row>(
        &self,
        digests: &[Digest],
        row: impl Fn(usize) -> Row,
        codes: &mut [u32],
    ) -> Result<u64>
    where
        R: Records<Row>,
    {
        let mut grown = 0;
        let mut grouped = vec![Digest::default(); BLOCK.min(digests.len())];
        let mut locals = vec![0; grouped.len()];
        for (block, (keys, codes)) in digests.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)).enumerate() {
            let (order, ends) = order_by_shard(keys, self.sharding);
            for (key, at) in grouped.iter_mut().zip(&order).take(keys.len()) {
                *key = keys[usize::from(*at)];
            }
            let mut start = 0;
            for (s, end) in ends.iter().map(|end| usize::from(*end)).enumerate().take(self.sharding.shards())
            {
                let part = start..end;
                start = end;
                if part.is_empty() {
                    continue;
                }
                let places = &order[part.clone()];
                let mut shard = self.shards[s].lock().map_err(|_| POISONED)?;
                let before = shard.bytes::<Row>();
                let record = |i: usize| row(block * BLOCK + usize::from(places[i]));
                shard.intern(
                    &grouped[part.clone()],
                    record,
                    self.sharding.capacity(),
                    &mut locals[part.clone()],
                )?;
                grown += (shard.bytes::<Row>() - before) as u64;
                drop(shard);
                for (at, local) in places.iter().zip(&locals[part]) {
                    codes[usize::from(*at)] = self.sharding.code(s, *local);
                }
            }
        }
        Ok(grown)
    }
}

const POISONED: Error = Error::Internal("a reading thread failed");

/// The rows of a block in order of their shards, and where each shard ends.
fn order_by_shard(keys: &[Digest], sharding: Sharding) -> ([u16; BLOCK], [u16; Sharding::MOST]) {
    let mut ends = [0_u16; Sharding::MOST];
    for key in keys {
        ends[sharding.shard_of_digest(*key)] += 1;
    }
    let mut cursor = [0_u16; Sharding::MOST];
    let mut sum = 0;
    for (c, e) in cursor.iter_mut().zip(&mut ends) {
        *c = sum;
        sum += *e;
        *e = sum;
    }
    let mut order = [0; BLOCK];
    for (row, key) in (0_u16..).zip(keys) {
        let c = &mut cursor[sharding.shard_of_digest(*key)];
        order[usize::from(*c)] = row;
        *c += 1;
    }
    (order, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remembers the place of the first row of each key.
    #[derive(Debug, Default)]
    struct Firsts(Vec<usize>);

    impl Records<usize> for Firsts {
        fn append(&mut self, row: usize) {
            self.0.push(row);
        }
        fn bytes(&self) -> usize {
            self.0.capacity() * 8
        }
    }

    /// Well-mixed digests of small numbers, some sharing tag bits on purpose.
    fn digest(n: u128) -> Digest {
        Digest((n % 997).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) & !0xffff_ffff | (n % 3))
    }

    #[test]
    fn equal_digests_get_equal_codes_and_their_own_record() {
        let sharding = Sharding::for_threads(2);
        let interner = Interner::new(sharding, Firsts::default);
        let mut seen = std::collections::BTreeMap::new();
        for batch in 0..20_usize {
            let digests: Vec<_> = (0..9000).map(|i| digest((batch * 37 + i) as u128)).collect();
            let mut codes = vec![0; digests.len()];
            interner.intern(&digests, |row| batch * 10_000 + row, &mut codes).unwrap();
            for (row, (d, c)) in digests.iter().zip(codes).enumerate() {
                let first = seen.entry(*d).or_insert((c, batch * 10_000 + row));
                assert_eq!(first.0, c);
            }
        }
        let codes: std::collections::BTreeSet<_> = seen.values().map(|v| v.0).collect();
        assert_eq!(codes.len(), seen.len());
        let shards = interner.into_shards().unwrap();
        for (d, (code, first)) in seen {
            let (shard, local) = (&shards[sharding.shard_of_code(code)], sharding.local_of_code(code));
            assert_eq!(shard.digests()[local], d.0);
            assert_eq!(shard.records.0[local], first);
        }
    }

    #[test]
    fn threads_agree_on_codes() {
        let interner = Interner::new(Sharding::for_threads(2), Firsts::default);
        let digests: Vec<_> = (0..5000).map(digest).collect();
        let all = crate::parallel::map(vec![0, 1, 2, 3], |_| {
            let mut codes = vec![0; digests.len()];
            interner.intern(&digests, |row| row, &mut codes).unwrap();
            codes
        });
        assert!(all.windows(2).all(|w| w[0] == w[1]));
    }
}
