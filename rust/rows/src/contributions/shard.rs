//! One shard of an interner: gives dense local codes to digests.
//!
//! A key is represented by its 128-bit keyed digest. Equal digests mean equal keys (`random::Digest`), so no key bytes
//! are compared. The table tells where a key may be. A hit is confirmed on the whole digest.

use std::hint::black_box;

use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use super::table::{AHEAD, Filling, Table};
use crate::runtime::memory::{Growing, Room};

#[cfg(test)]
mod tests;

/// Marks a key that was not found in its home bucket. Every local code is smaller.
const NOT_SEEN: u32 = u32::MAX;

/// The keys of one shard, with a record of type `R` for each distinct key.
#[derive(Debug)]
pub(crate) struct Shard<R> {
    table: Table,
    digests: Growing<u128>,
    /// So many local codes belong to keys that are never interned. Those of interned keys follow.
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
        Self { table: Table::default(), digests: Growing::default(), reserved: 0, records }
    }

    /// Keep the first local codes for keys that are never interned.
    ///
    /// # Errors
    /// [`Error::Internal`] if a key was interned before: its code would change.
    pub(super) fn reserve(&mut self, locals: usize) -> Result<()> {
        if !self.digests.as_slice().is_empty() {
            return Err(Error::Internal("codes are kept free after a key was interned"));
        }
        self.reserved = locals;
        Ok(())
    }

    /// Digests of the interned keys in order of local codes.
    pub(crate) fn digests(&self) -> &[u128] {
        self.digests.as_slice()
    }

    /// All local codes are below this.
    pub(crate) fn len(&self) -> usize {
        self.reserved + self.digests.len()
    }

    /// The local codes of up to [`AHEAD`] keys that are in their home buckets; [`NOT_SEEN`] for the other keys.
    ///
    /// As for the buckets ([`Table::candidates`]), a short loop first reads the digests and does nothing else. If only
    /// few keys have a candidate, these reads would stand far apart, and the processor overlaps only reads within some
    /// hundred instructions. So these keys are listed first.
    #[expect(clippy::cast_possible_truncation, reason = "local codes fit 32 bits, see `Sharding::capacity`")]
    fn look_up(&self, keys: &[Digest], found: &mut [u32; AHEAD]) {
        let digests = self.digests.as_slice();
        let Some(last) = digests.len().checked_sub(1) else {
            return found.fill(NOT_SEEN);
        };
        self.table.candidates(keys, found);
        let (mut hits, mut count) = ([0; AHEAD], 0);
        for (i, f) in found[..keys.len()].iter_mut().enumerate() {
            *f = f.wrapping_sub(1);
            hits[count] = i;
            count += usize::from(*f != NOT_SEEN);
        }
        let hits = &hits[..count];
        let local = |f: u32| f.min(last as u32);
        black_box(hits.iter().fold(0, |mixed, i| mixed ^ digests[local(found[*i]) as usize] as u64));
        for i in hits {
            let (local, key) = (local(found[*i]), keys[*i]);
            let other = u32::from(digests[local as usize] != key.0).wrapping_neg();
            found[*i] = local.wrapping_add(self.reserved as u32) | other;
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
            self.table.make_room(self.digests.len() + keys.len());
            let (table, digests) = (self.table.filling(), self.digests.room(keys.len()));
            let mut group = Group { table, digests, reserved: self.reserved };
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

    /// Free the memory that only interning needs.
    pub(crate) fn close(&mut self) {
        self.table = Table::default();
    }

    /// Digests and records of the interned keys in order of local codes.
    pub(super) fn into_digests_and_records(self) -> (Growing<u128>, R) {
        (self.digests, self.records)
    }

    /// Bytes held.
    pub(crate) fn bytes<Source>(&self) -> usize
    where
        R: Records<Source>,
    {
        self.table.bytes() + self.digests.bytes() + self.records.bytes()
    }
}

/// A shard with room for a group of keys.
struct Group<'a> {
    table: Filling<'a>,
    digests: Room<'a, u128>,
    reserved: usize,
}

impl Group<'_> {
    /// The local code of a key that may be new.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "local codes fit 32 bits, see `Sharding::capacity`")]
    fn add(&mut self, key: Digest, capacity: usize) -> Result<u32> {
        let known = self.digests.len();
        let next = (known + self.reserved < capacity).then_some(known as u32 + 1);
        let number = self.table.number(key, self.digests.elements(), next);
        let number = number.ok_or(Error::Capacity { what: "distinct keys", limit: 1 << 32 })?;
        if Some(number) == next {
            self.digests.push(key.0);
        }
        Ok(number - 1 + self.reserved as u32)
    }
}
