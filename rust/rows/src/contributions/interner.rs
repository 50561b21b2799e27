//! Interning: gives dense codes to digests, in shards that several threads fill at once.

use std::sync::{Mutex, TryLockError};

use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use super::shard::{Records, Shard};
use super::sharding::Sharding;
use crate::runtime::parallel;

#[cfg(test)]
mod tests;

/// Keys that are ordered by shard together. They fit the first-level caches, and each shard gets some of them.
const BLOCK: usize = 8192;

/// Gives codes to keys. Each key belongs to one shard.
#[derive(Debug)]
pub(crate) struct Interner<R> {
    shards: Vec<Mutex<Shard<R>>>,
    sharding: Sharding,
}

/// One thread's keys in order of their shards. The memory is reused between calls.
#[derive(Debug, Default)]
pub(crate) struct ShardBuffers {
    order: Vec<u16>,
    keys: Vec<Digest>,
    locals: Vec<u32>,
}

impl<R> Interner<R> {
    pub(crate) fn new(sharding: Sharding, records: impl Fn() -> R) -> Self {
        let shards = (0..sharding.shards()).map(|_| Mutex::new(Shard::new(records()))).collect();
        Self { shards, sharding }
    }

    /// Keep the codes below `below` for keys that are never interned. No key has been interned so far.
    pub(super) fn reserve(&self, below: u32) -> Result<()> {
        let locals = self.sharding.local_of_code(below);
        for shard in &self.shards {
            shard.lock().map_err(|_| POISONED)?.reserve(locals)?;
        }
        Ok(())
    }

    /// Number of keys that were interned.
    pub(crate) fn len(&mut self) -> Result<usize> {
        Ok(self.lengths()?.into_iter().sum())
    }

    /// All codes are below this.
    pub(super) fn code_bound(&mut self) -> Result<usize> {
        let lengths = self.lengths()?;
        Ok(self.sharding.code_bound(lengths.into_iter()))
    }

    fn lengths(&mut self) -> Result<Vec<usize>> {
        self.shards
            .iter_mut()
            .map(|shard| Ok(shard.get_mut().map_err(|_| POISONED)?.digests().len()))
            .collect()
    }

    /// The shards, without the memory that only interning needs. Several threads give it back.
    pub(crate) fn into_shards(self, threads: usize) -> Result<Vec<Shard<R>>>
    where
        R: Send,
    {
        let shards = self.shards.into_iter().map(|shard| shard.into_inner().map_err(|_| POISONED));
        let shards: Vec<Shard<R>> = shards.collect::<Result<_>>()?;
        Ok(parallel::map(threads, shards, |mut shard| {
            shard.close();
            shard
        }))
    }

    /// Append the code of each digest to `codes`; returns the growth of the shards in bytes. Row i of `source` holds
    /// the record of digest i.
    pub(crate) fn intern<Source>(
        &self,
        digests: &[Digest],
        source: &Source,
        scratch: &mut ShardBuffers,
        codes: &mut Vec<u32>,
    ) -> Result<u64>
    where
        R: Records<Source>,
    {
        let (mut grown, first) = (0, codes.len());
        codes.resize(first + digests.len(), 0);
        let blocks = digests.chunks(BLOCK).zip(codes[first..].chunks_mut(BLOCK));
        for (block, (keys, codes)) in blocks.enumerate() {
            let ends = scratch.order_by_shard(keys, self.sharding);
            let row = |place: u16| block * BLOCK + usize::from(place);
            let mut part = |s: usize, shard: &mut Shard<R>| {
                let start = s.checked_sub(1).map_or(0, |before| usize::from(ends[before]));
                let part = start..usize::from(ends[s]);
                let (places, locals) = (&scratch.order[part.clone()], &mut scratch.locals[part.clone()]);
                let before = shard.bytes::<Source>();
                let rows = |i: usize| row(places[i]);
                shard.intern(&scratch.keys[part], (source, rows), self.sharding.capacity(), locals)?;
                grown += (shard.bytes::<Source>() - before) as u64;
                for (at, local) in places.iter().zip(locals) {
                    codes[usize::from(*at)] = self.sharding.code(s, *local);
                }
                Ok(())
            };
            let mut busy = Vec::new();
            for (s, shard) in self.shards.iter().enumerate() {
                match shard.try_lock() {
                    Ok(mut shard) => part(s, &mut shard)?,
                    Err(TryLockError::WouldBlock) => busy.push(s),
                    Err(TryLockError::Poisoned(_)) => return Err(POISONED),
                }
            }
            for s in busy {
                part(s, &mut *self.shards[s].lock().map_err(|_| POISONED)?)?;
            }
        }
        Ok(grown)
    }
}

/// What takes memory while keys are interned.
pub(super) const READING: &str = "reading the rows";
pub(super) const POISONED: Error = Error::Internal("a reading thread failed");

impl ShardBuffers {
    /// Order the keys by shard and note their rows; returns the end of each shard.
    fn order_by_shard(&mut self, keys: &[Digest], sharding: Sharding) -> [u16; Sharding::MOST] {
        let mut ends = [0_u16; Sharding::MOST];
        for key in keys {
            ends[usize::from(sharding.shard_of_digest(*key))] += 1;
        }
        let mut cursor = [0_u16; Sharding::MOST];
        let mut sum = 0;
        for (c, e) in cursor.iter_mut().zip(&mut ends).take(sharding.shards()) {
            *c = sum;
            sum += *e;
            *e = sum;
        }
        self.order.resize(keys.len().max(self.order.len()), 0);
        self.keys.resize(keys.len().max(self.keys.len()), Digest::default());
        self.locals.resize(keys.len().max(self.locals.len()), 0);
        for (row, key) in (0_u16..).zip(keys) {
            let c = &mut cursor[usize::from(sharding.shard_of_digest(*key))];
            let to = usize::from(*c);
            (self.order[to], self.keys[to]) = (row, *key);
            *c += 1;
        }
        ends
    }
}
