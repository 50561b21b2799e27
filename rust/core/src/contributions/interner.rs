//! Interning: digests to dense codes, in shards that several threads fill at once.
//!
//! A key is its 128-bit keyed digest: equal digests are equal keys (`random::Digest`), so no key bytes are
//! compared. The slots of a shard hold 32 bits of the digest and a local code; a hit is confirmed on the whole digest.

use std::sync::Mutex;

use crate::memory::{Array, Growing};
use crate::random::Digest;
use crate::{Error, Result};

/// Keys whose slots are touched ahead, so that their cache misses overlap.
const AHEAD: usize = 32;
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
    fn capacity(self) -> usize {
        (1 << (32 - self.bits)) - 1
    }

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

/// The keys of one shard, with a record of type `R` for each distinct key.
#[derive(Debug)]
pub(crate) struct Shard<R> {
    slots: Array<u64>,
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
    fn new(records: R) -> Self {
        Self { slots: Array::zeroed(64), digests: Growing::default(), records }
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

    /// Read the slots and digests that a run of keys will need. The reads are independent of each other, so the
    /// processor overlaps their misses; the probing that follows finds them in cache.
    fn touch_ahead(&self, keys: &[Digest], rows: &[u16]) {
        let (slots, digests) = (self.slots.as_slice(), self.digests.as_slice());
        let mut seen = [0_u64; AHEAD];
        for (s, row) in seen.iter_mut().zip(rows) {
            *s = slots[home(keys[usize::from(*row)], slots.len())];
        }
        let mut mixed = 0;
        for (slot, row) in seen.iter().zip(rows) {
            if *slot != 0 && tag(*slot) == keys[usize::from(*row)].0 as u32 {
                mixed ^= digests[local(*slot)];
            }
        }
        std::hint::black_box(mixed);
    }

    /// Where the digest is, or the free slot where it belongs.
    fn find(&self, digest: Digest) -> std::result::Result<u32, usize> {
        let (slots, digests) = (self.slots.as_slice(), self.digests.as_slice());
        let mut at = home(digest, slots.len());
        loop {
            let slot = slots[at];
            if slot == 0 {
                return Err(at);
            }
            if tag(slot) == digest.0 as u32 && digests[local(slot)] == digest.0 {
                return Ok(local(slot) as u32);
            }
            at = (at + 1) & (slots.len() - 1);
        }
    }

    fn insert(&mut self, at: usize, digest: Digest, capacity: usize) -> Result<u32> {
        let local = self.digests.len();
        if local >= capacity {
            return Err(Error::Capacity { what: "distinct keys", limit: 1 << 32 });
        }
        self.digests.push(digest.0);
        self.slots.as_mut_slice()[at] = slot(digest.0, local);
        if self.digests.len() * 4 >= self.slots.as_slice().len() * 3 {
            self.grow();
        }
        Ok(local as u32)
    }

    fn grow(&mut self) {
        let size = self.slots.as_slice().len() * 2;
        // Freed before the larger table is made: the slots can be rebuilt from the digests.
        self.slots = Array::default();
        self.slots = Array::zeroed(size);
        let slots = self.slots.as_mut_slice();
        for (local, digest) in self.digests.as_slice().iter().enumerate() {
            let mut at = home(Digest(*digest), size);
            while slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            slots[at] = slot(*digest, local);
        }
    }

    fn bytes<Row>(&self) -> usize
    where
        R: Records<Row>,
    {
        self.slots.bytes() + self.digests.bytes() + self.records.bytes()
    }
}

/// The first slot to look at: bits that neither the tag nor the shard uses.
fn home(digest: Digest, slots: usize) -> usize {
    (digest.0 >> 32) as usize & (slots - 1)
}

/// 32 bits of the digest above the local code plus one; zero is a free slot.
fn slot(digest: u128, local: usize) -> u64 {
    u64::from(digest as u32) << 32 | (local as u64 + 1)
}

fn tag(slot: u64) -> u32 {
    (slot >> 32) as u32
}

fn local(slot: u64) -> usize {
    (slot as u32 - 1) as usize
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
                shard.slots = Array::default();
                Ok(shard)
            })
            .collect()
    }

    /// Write the code of each digest to the same place of `codes`; returns the growth in bytes. `row` gives the
    /// record of a key by its place.
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
        for (block, (keys, codes)) in digests.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)).enumerate() {
            let (order, ends) = order_by_shard(keys, self.sharding);
            let mut start = 0;
            for (s, &end) in ends.iter().enumerate().take(self.sharding.shards()) {
                let rows = &order[start..usize::from(end)];
                start = usize::from(end);
                if !rows.is_empty() {
                    grown += self.intern_in_shard(s, keys, rows, |r| row(block * BLOCK + r), codes)?;
                }
            }
        }
        Ok(grown)
    }

    fn intern_in_shard<Row>(
        &self,
        s: usize,
        keys: &[Digest],
        rows: &[u16],
        row: impl Fn(usize) -> Row,
        codes: &mut [u32],
    ) -> Result<u64>
    where
        R: Records<Row>,
    {
        let mut shard = self.shards[s].lock().map_err(|_| POISONED)?;
        let before = shard.bytes::<Row>();
        for ahead in rows.chunks(AHEAD) {
            shard.touch_ahead(keys, ahead);
            for &r in ahead {
                let r = usize::from(r);
                let local = match shard.find(keys[r]) {
                    Ok(local) => local,
                    Err(at) => {
                        shard.records.append(row(r));
                        shard.insert(at, keys[r], self.sharding.capacity())?
                    }
                };
                codes[r] = self.sharding.code(s, local);
            }
        }
        Ok((shard.bytes::<Row>() - before) as u64)
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
        Digest((n % 997).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) & !0xffff_ffff | n % 3)
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
