//! Chunks of encoded rows, grouped by the shard of their user.
//!
//! A worker collects rows in an open chunk. When it is full its rows are grouped by user shard, and only then are the
//! users interned: a shard's table is small enough to stay in cache while all of the chunk's rows of that shard are
//! looked up, even when the users come in random order.

use std::sync::Mutex;

use super::interner::{Records, Shard};
use crate::memory::{Array, Growing};
use crate::random::Digest;
use crate::{Error, Result};

/// Number of user shards.
pub(super) const USER_SHARDS: usize = 256;
/// Most users of one shard.
const SHARD_CAPACITY: usize = u32::MAX as usize / USER_SHARDS;

/// Users of one shard; nothing is kept of a user but its digest.
pub(super) type UserShard = Shard<NoRecord>;

/// Nothing.
#[derive(Debug)]
pub(super) struct NoRecord;

impl Records<()> for NoRecord {
    fn append(&mut self, _row: ()) {}
    fn bytes(&self) -> usize {
        0
    }
}

/// Rows in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    /// Digest of the user of each run.
    users: Growing<u128>,
    /// Rows of each run; empty where every run is one row.
    lens: Growing<u32>,
    items: Growing<u32>,
    /// Scratch: the users grouped by shard.
    grouped: Growing<u128>,
}

impl OpenChunk {
    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.items.len()
    }

    /// Whether rows can be added whose runs are all of one row (or are not).
    pub(super) fn accepts(&self, single: bool) -> bool {
        self.users.len() == 0 || single == (self.lens.len() == 0)
    }

    /// Add rows; `lens` is empty if every run is one row.
    pub(super) fn extend(&mut self, users: &[u128], lens: &[u32], items: &[u32]) {
        self.users.extend_from_slice(users);
        self.lens.extend_from_slice(lens);
        self.items.extend_from_slice(items);
    }

    fn run_len(&self, run: usize) -> usize {
        self.lens.as_slice().get(run).map_or(1, |n| *n as usize)
    }

    /// Group the rows by user shard, intern the users and start anew; also returns the growth of the shards in bytes.
    ///
    /// # Errors
    /// Capacity; [`Error::Internal`] if another thread panicked.
    pub(super) fn close(&mut self, shards: &[Mutex<UserShard>]) -> Result<(Chunk, u64)> {
        let (run_starts, row_starts) = self.shard_starts();
        let mut users = Array::<u32>::zeroed(self.users.len());
        let mut lens = Array::<u32>::zeroed(self.lens.len());
        let mut items = Array::<u32>::zeroed(self.rows());
        self.scatter(run_starts, row_starts, lens.as_mut_slice(), items.as_mut_slice());
        let mut grown = 0;
        let mut keys = Vec::new();
        for (shard, runs) in shards.iter().zip(run_starts.windows(2).map(|w| w[0]..w[1])) {
            if runs.is_empty() {
                continue;
            }
            keys.clear();
            keys.extend(self.grouped.as_slice()[runs.clone()].iter().copied().map(Digest));
            let mut shard = shard.lock().map_err(|_| Error::Internal("a reading thread failed"))?;
            let before = shard.bytes::<()>();
            shard.intern(&keys, |_| (), SHARD_CAPACITY, &mut users.as_mut_slice()[runs])?;
            grown += (shard.bytes::<()>() - before) as u64;
        }
        self.users.clear();
        self.lens.clear();
        self.items.clear();
        Ok((Chunk { run_starts, row_starts, users, lens, items }, grown))
    }

    /// Where each shard's runs and rows start once they are grouped.
    fn shard_starts(&self) -> (Starts, Starts) {
        let (mut runs, mut rows) = ([0; USER_SHARDS + 1], [0; USER_SHARDS + 1]);
        for (run, user) in self.users.as_slice().iter().enumerate() {
            let s = shard_of(*user);
            runs[s + 1] += 1;
            rows[s + 1] += self.run_len(run);
        }
        for s in 0..USER_SHARDS {
            runs[s + 1] += runs[s];
            rows[s + 1] += rows[s];
        }
        (runs, rows)
    }

    /// Copy users to `grouped`, lengths and rows to the arguments, each to its shard's place.
    fn scatter(&mut self, mut run_at: Starts, mut row_at: Starts, lens: &mut [u32], items: &mut [u32]) {
        self.grouped.clear();
        self.grouped.extend_from_slice(self.users.as_slice());
        let (source, grouped) = (self.items.as_slice(), self.grouped.as_mut_slice());
        let mut row = 0;
        for (run, &user) in self.users.as_slice().iter().enumerate() {
            let s = shard_of(user);
            let len = self.lens.as_slice().get(run).map_or(1, |n| *n as usize);
            grouped[run_at[s]] = user;
            match len {
                // Rows in random order come one by one: a copy of one word is not worth a call.
                1 => items[row_at[s]] = source[row],
                _ => items[row_at[s]..][..len].copy_from_slice(&source[row..row + len]),
            }
            if let Some(n) = self.lens.as_slice().get(run) {
                lens[run_at[s]] = *n;
            }
            run_at[s] += 1;
            row_at[s] += len;
            row += len;
        }
    }
}

type Starts = [usize; USER_SHARDS + 1];

fn shard_of(user: u128) -> usize {
    (user >> 120) as usize
}

/// Rows grouped by user shard.
#[derive(Debug)]
pub(super) struct Chunk {
    run_starts: Starts,
    row_starts: Starts,
    /// Local code of the user of each run.
    users: Array<u32>,
    /// Rows of each run; empty where every run is one row.
    lens: Array<u32>,
    items: Array<u32>,
}

impl Chunk {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.users.bytes() + self.lens.bytes() + self.items.bytes()
    }

    /// Number of rows of a shard.
    pub(super) fn rows_of(&self, shard: usize) -> usize {
        self.row_starts[shard + 1] - self.row_starts[shard]
    }

    /// Call `f(local user code, items)` for every run of a shard.
    pub(super) fn for_each_run<'a>(&'a self, shard: usize, mut f: impl FnMut(usize, &'a [u32])) {
        let runs = self.run_starts[shard]..self.run_starts[shard + 1];
        let items = &self.items.as_slice()[self.row_starts[shard]..self.row_starts[shard + 1]];
        let users = &self.users.as_slice()[runs.clone()];
        match self.lens.as_slice().get(runs) {
            Some(lens) if !self.lens.as_slice().is_empty() => {
                let mut rest = items;
                for (user, len) in users.iter().zip(lens) {
                    let (run, others) = rest.split_at(*len as usize);
                    f(*user as usize, run);
                    rest = others;
                }
            }
            _ => users.iter().zip(items.chunks(1)).for_each(|(user, run)| f(*user as usize, run)),
        }
    }
}
