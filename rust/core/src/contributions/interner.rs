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
    /// A key was seen (also right after `append`).
    fn touch(&mut self, local: usize, row: Row);
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

    /// The digest of a local code.
    pub(crate) fn digest(&self, local: usize) -> Digest {
        Digest(self.digests.as_slice()[local])
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.digests.len()
    }

    /// Read the slots and digests that a run of keys will need. The reads are independent of each other, so the
    /// processor overlaps their misses; the probing that follows finds them in cache.
    fn touch_ahead(&self, keys: &[(Digest, u32)]) {
        let (slots, digests) = (self.slots.as_slice(), self.digests.as_slice());
        let mut seen = [0_u64; AHEAD];
        for (s, (digest, _)) in seen.iter_mut().zip(keys) {
            *s = slots[home(*digest, slots.len())];
        }
        let mut mixed = 0;
        for (slot, (digest, _)) in seen.iter().zip(keys) {
            if *slot != 0 && tag(*slot) == digest.0 as u32 {
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

/// One thread's scratch space for [`Interner::intern`].
#[derive(Debug, Default)]
pub(crate) struct InternScratch {
    /// (digest, row) of a batch, grouped by shard.
    grouped: Vec<(Digest, u32)>,
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

    /// Write the code of each digest to the same place of `codes`; returns the growth in bytes.
    pub(crate) fn intern<Row>(
        &self,
        digests: &[Digest],
        row: impl Fn(usize) -> Row,
        scratch: &mut InternScratch,
        codes: &mut [u32],
    ) -> Result<u64>
    where
        R: Records<Row>,
    {
        let ends = group_by_shard(digests, self.sharding, &mut scratch.grouped);
        let mut grown = 0;
        let mut start = 0;
        for (s, end) in ends.into_iter().enumerate().take(self.sharding.shards()) {
            let keys = &scratch.grouped[start..end];
            start = end;
            if keys.is_empty() {
                continue;
            }
            let mut shard = self.shards[s].lock().map_err(|_| POISONED)?;
            let before = shard.bytes::<Row>();
            for ahead in keys.chunks(AHEAD) {
                shard.touch_ahead(ahead);
                for &(digest, r) in ahead {
                    let r = r as usize;
                    let local = match shard.find(digest) {
                        Ok(local) => local,
                        Err(at) => {
                            shard.records.append(row(r));
                            shard.insert(at, digest, self.sharding.capacity())?
                        }
                    };
                    shard.records.touch(local as usize, row(r));
                    codes[r] = self.sharding.code(s, local);
                }
            }
            grown += (shard.bytes::<Row>() - before) as u64;
        }
        Ok(grown)
    }
}

const POISONED: Error = Error::Internal("a reading thread failed");

/// Counting sort of (digest, row) by shard; returns where each shard ends.
fn group_by_shard(
    digests: &[Digest],
    sharding: Sharding,
    grouped: &mut Vec<(Digest, u32)>,
) -> [usize; Sharding::MOST] {
    let mut ends = [0_usize; Sharding::MOST];
    for d in digests {
        ends[sharding.shard_of_digest(*d)] += 1;
    }
    let mut cursor = [0_usize; Sharding::MOST];
    let mut sum = 0;
    for (c, e) in cursor.iter_mut().zip(&mut ends) {
        *c = sum;
        sum += *e;
        *e = sum;
    }
    grouped.clear();
    grouped.resize(digests.len(), (Digest::default(), 0));
    for (row, d) in (0_u32..).zip(digests) {
        let c = &mut cursor[sharding.shard_of_digest(*d)];
        grouped[*c] = (*d, row);
        *c += 1;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Counts(Vec<u32>);

    impl Records<u32> for Counts {
        fn append(&mut self, _row: u32) {
            self.0.push(0);
        }
        fn touch(&mut self, local: usize, row: u32) {
            self.0[local] += row;
        }
        fn bytes(&self) -> usize {
            self.0.capacity() * 4
        }
    }

    /// Well-mixed digests of small numbers, some sharing tag bits on purpose.
    fn digest(n: u128) -> Digest {
        Digest((n % 997).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) & !0xffff_ffff | n % 3)
    }

    #[test]
    fn equal_digests_get_equal_codes_and_all_are_counted() {
        let interner = Interner::new(Sharding::for_threads(2), Counts::default);
        let mut seen = std::collections::BTreeMap::new();
        let mut scratch = InternScratch::default();
        for batch in 0..20_u128 {
            let digests: Vec<_> = (0..500).map(|i| digest(batch * 37 + i)).collect();
            let mut codes = vec![0; digests.len()];
            interner.intern(&digests, |_| 1, &mut scratch, &mut codes).unwrap();
            for (d, c) in digests.iter().zip(codes) {
                let entry = seen.entry(*d).or_insert((c, 0));
                assert_eq!(entry.0, c);
                entry.1 += 1;
            }
        }
        let codes: std::collections::BTreeSet<_> = seen.values().map(|v| v.0).collect();
        assert_eq!(codes.len(), seen.len());
        let shards = interner.into_shards().unwrap();
        for (d, (code, count)) in seen {
            let sharding = Sharding::for_threads(2);
            let (shard, local) = (&shards[sharding.shard_of_code(code)], sharding.local_of_code(code));
            assert_eq!(shard.digest(local), d);
            assert_eq!(shard.records.0[local], count);
        }
    }

    #[test]
    fn threads_agree_on_codes() {
        let interner = Interner::new(Sharding::for_threads(2), Counts::default);
        let digests: Vec<_> = (0..5000).map(digest).collect();
        let all = crate::parallel::map(vec![0, 1, 2, 3], |_| {
            let mut codes = vec![0; digests.len()];
            interner.intern(&digests, |_| 1, &mut InternScratch::default(), &mut codes).unwrap();
            codes
        });
        assert!(all.windows(2).all(|w| w[0] == w[1]));
    }
}
