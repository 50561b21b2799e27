//! Interning: digests to dense codes, in shards that several threads fill at once.
//!
//! A key is its 128-bit keyed digest: equal digests are equal keys (`random::Digest`), so no key bytes are
//! compared. The slots of a shard hold 32 bits of the digest and a local code; a hit is confirmed on the whole digest.

use std::sync::Mutex;

use crate::random::Digest;
use crate::{Error, Result};

/// Number of shards: enough that threads seldom meet, few enough that a batch has many keys for each.
pub(crate) const SHARDS: usize = 64;
const SHARD_BITS: u32 = SHARDS.ilog2();
/// Most keys of one shard, so that codes fit 32 bits.
const SHARD_CAPACITY: usize = 1 << (32 - SHARD_BITS);
/// Keys whose slots are touched ahead, so that their cache misses overlap.
const AHEAD: usize = 32;

/// A code is `local << SHARD_BITS | shard`; codes grow with the order of first appearance, so that frequent keys
/// have small ones.
pub(crate) fn code(shard: usize, local: u32) -> u32 {
    local << SHARD_BITS | shard as u32
}

/// The shard of a code.
pub(crate) fn shard_of_code(code: u32) -> usize {
    code as usize % SHARDS
}

/// The local code inside the shard.
pub(crate) fn local_of_code(code: u32) -> usize {
    (code >> SHARD_BITS) as usize
}

fn shard_of_digest(digest: Digest) -> usize {
    (digest.0 >> (128 - SHARD_BITS)) as usize
}

/// The keys of one shard, with a record of type `R` for each distinct key.
#[derive(Debug)]
pub(crate) struct Shard<R> {
    slots: Vec<u64>,
    pub(crate) digests: Vec<Digest>,
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
        Self { slots: vec![0; 64], digests: Vec::new(), records }
    }

    fn home(&self, digest: Digest) -> usize {
        (digest.0 >> 32) as usize & (self.slots.len() - 1)
    }

    /// Read the slots and digests that a run of keys will need. The reads are independent of each other, so the
    /// processor overlaps their misses; the probing that follows finds them in cache.
    fn touch_ahead(&self, keys: &[(Digest, u32)]) {
        let mut seen = [0_u64; AHEAD];
        for (s, (digest, _)) in seen.iter_mut().zip(keys) {
            *s = self.slots[self.home(*digest)];
        }
        let mut mixed = 0;
        for (slot, (digest, _)) in seen.iter().zip(keys) {
            if *slot != 0 && (slot >> 32) as u32 == digest.0 as u32 {
                mixed ^= self.digests[(*slot as u32 - 1) as usize].0;
            }
        }
        std::hint::black_box(mixed);
    }

    /// Where the digest is, or the free slot where it belongs.
    fn find(&self, digest: Digest) -> std::result::Result<u32, usize> {
        let tag = digest.0 as u32;
        let mut at = self.home(digest);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let local = slot as u32 - 1;
            if (slot >> 32) as u32 == tag && self.digests[local as usize] == digest {
                return Ok(local);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn insert(&mut self, at: usize, digest: Digest) -> Result<u32> {
        let local = self.digests.len();
        // One code is kept free so that `local + 1` fits a slot's 32 bits.
        if local + 1 >= SHARD_CAPACITY {
            return Err(Error::Capacity { what: "distinct keys", limit: 1 << 32 });
        }
        self.digests.push(digest);
        self.slots[at] = u64::from(digest.0 as u32) << 32 | (local as u64 + 1);
        if self.digests.len() * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        Ok(local as u32)
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        // Freed before the larger table is made: the slots can be rebuilt from the digests.
        self.slots = Vec::new();
        self.slots = vec![0; size];
        for (local, digest) in self.digests.iter().enumerate() {
            let mut at = self.home(*digest);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = u64::from(digest.0 as u32) << 32 | (local as u64 + 1);
        }
    }

    fn bytes<Row>(&self) -> usize
    where
        R: Records<Row>,
    {
        self.slots.capacity() * 8 + self.digests.capacity() * 16 + self.records.bytes()
    }
}

/// All shards.
#[derive(Debug)]
pub(crate) struct Interner<R> {
    shards: Vec<Mutex<Shard<R>>>,
}

/// One thread's scratch space for [`Interner::intern`].
#[derive(Debug, Default)]
pub(crate) struct InternScratch {
    /// (digest, row) of a batch, grouped by shard.
    grouped: Vec<(Digest, u32)>,
}

impl<R> Interner<R> {
    pub(crate) fn new(records: impl Fn() -> R) -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::new(Shard::new(records()))).collect() }
    }

    pub(crate) fn into_shards(self) -> Result<Vec<Shard<R>>> {
        self.shards
            .into_iter()
            .map(|shard| {
                let mut shard = shard.into_inner().map_err(|_| POISONED)?;
                shard.slots = Vec::new();
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
        let ends = group_by_shard(digests, &mut scratch.grouped);
        let mut grown = 0;
        let mut start = 0;
        for (s, &end) in ends.iter().enumerate() {
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
                            shard.insert(at, digest)?
                        }
                    };
                    shard.records.touch(local as usize, row(r));
                    codes[r] = code(s, local);
                }
            }
            grown += (shard.bytes::<Row>() - before) as u64;
        }
        Ok(grown)
    }
}

const POISONED: Error = Error::Internal("a reading thread failed");

/// Counting sort of (digest, row) by shard; returns where each shard ends.
fn group_by_shard(digests: &[Digest], grouped: &mut Vec<(Digest, u32)>) -> [usize; SHARDS] {
    let mut ends = [0_usize; SHARDS];
    for d in digests {
        ends[shard_of_digest(*d)] += 1;
    }
    let mut cursor = [0_usize; SHARDS];
    let mut sum = 0;
    for (c, e) in cursor.iter_mut().zip(&mut ends) {
        *c = sum;
        sum += *e;
        *e = sum;
    }
    grouped.clear();
    grouped.resize(digests.len(), (Digest::default(), 0));
    for (row, d) in (0_u32..).zip(digests) {
        let c = &mut cursor[shard_of_digest(*d)];
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
        let interner = Interner::new(Counts::default);
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
            let shard = &shards[shard_of_code(code)];
            assert_eq!(shard.digests[local_of_code(code)], d);
            assert_eq!(shard.records.0[local_of_code(code)], count);
        }
    }

    #[test]
    fn threads_agree_on_codes() {
        let interner = Interner::new(Counts::default);
        let digests: Vec<_> = (0..5000).map(digest).collect();
        let all = crate::parallel::map(vec![0, 1, 2, 3], |_| {
            let mut codes = vec![0; digests.len()];
            interner.intern(&digests, |_| 1, &mut InternScratch::default(), &mut codes).unwrap();
            codes
        });
        assert!(all.windows(2).all(|w| w[0] == w[1]));
    }
}
