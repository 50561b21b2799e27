//! Building contributions from many threads at once: intern users and items, then group rows by user.

use std::sync::Mutex;

use super::chunk::{Chunk, NoRecord, OpenChunk, USER_SHARDS, UserShard};
use super::grouping::group_rows;
use super::interner::{Interner, Records, Sharding};
use super::{Contributions, ItemCode, KeyLayout, KeyStore, Payload, Vocabulary};
use crate::control::Control;
use crate::ingest::ItemSchema;
use crate::random::Digest;
use crate::{Error, Result};

const READING: &str = "reading the rows";

/// Consecutive rows of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserRun {
    /// Digest of the user's key.
    pub user: Digest,
    /// Number of rows.
    pub rows: u32,
}

/// A batch's payload and the row to take from it.
struct PayloadRow<'a, P>(&'a P, usize);

impl<P: Payload> Records<PayloadRow<'_, P>> for KeyStore {
    fn append(&mut self, row: PayloadRow<'_, P>) {
        row.0.append_to(row.1, self);
    }
    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}

/// Rows of a thread's open chunk at which it is closed.
const CHUNK_ROWS: usize = 1 << 19;

/// Shared by the threads that read; each makes its own [`Worker`].
#[derive(Debug)]
pub struct ContributionsBuilder {
    users: Vec<Mutex<UserShard>>,
    items: Interner<KeyStore>,
    sharding: Sharding,
    closed: Mutex<Result<Vec<Chunk>>>,
    control: Control,
}

impl ContributionsBuilder {
    /// An empty builder for item keys of one layout.
    #[must_use]
    pub fn new(layout: KeyLayout, control: &Control) -> Self {
        let sharding = Sharding::for_threads(control.threads());
        Self {
            users: (0..USER_SHARDS).map(|_| Mutex::new(UserShard::new(NoRecord))).collect(),
            items: Interner::new(sharding, || KeyStore::new(layout)),
            sharding,
            closed: Mutex::new(Ok(Vec::new())),
            control: control.clone(),
        }
    }

    /// A handle for one thread. Its last rows are added when it is dropped.
    pub fn worker(&self) -> Worker<'_> {
        Worker {
            builder: self,
            open: OpenChunk::default(),
            users: Vec::new(),
            lens: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Group all rows by user, without duplicates.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn finish(self, schema: ItemSchema) -> Result<Contributions> {
        let chunks = self.closed.into_inner().map_err(|_| POISONED)??;
        let vocabulary = Vocabulary { shards: self.items.into_shards()?, sharding: self.sharding, schema };
        let users = self.users.into_iter().map(|shard| {
            let mut shard = shard.into_inner().map_err(|_| POISONED)?;
            shard.close();
            Ok(shard)
        });
        let users = users.collect::<Result<Vec<_>>>()?;
        self.control.check()?;
        group_rows(&users, &chunks, vocabulary, &self.control)
    }
}

const POISONED: Error = Error::Internal("a reading thread failed");

/// One thread's access to a [`ContributionsBuilder`].
#[derive(Debug)]
pub struct Worker<'a> {
    builder: &'a ContributionsBuilder,
    open: OpenChunk,
    users: Vec<u128>,
    lens: Vec<u32>,
    codes: Vec<u32>,
}

impl Worker<'_> {
    /// Codes of the items with these digests, appended to `codes`; keys of new items are taken from `payload`,
    /// whose row i belongs to digest i.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn intern(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<ItemCode>,
    ) -> Result<()> {
        self.codes.clear();
        self.codes.resize(digests.len(), 0);
        let grown = self.builder.items.intern(digests, |r| PayloadRow(payload, r), &mut self.codes)?;
        codes.extend(self.codes.iter().copied().map(ItemCode));
        self.builder.control.charge_memory(grown, READING)
    }

    /// Add rows: the runs cover `codes` in order (the sum of their `rows` is `codes.len()`). Runs of zero rows
    /// still make the user known.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn push(&mut self, runs: &[UserRun], codes: &[ItemCode]) -> Result<()> {
        let single = runs.iter().all(|run| run.rows == 1);
        if !self.open.accepts(single) || self.open.rows() + codes.len() > CHUNK_ROWS {
            self.close_chunk()?;
        }
        self.users.clear();
        self.users.extend(runs.iter().map(|run| run.user.0));
        self.lens.clear();
        if !single {
            self.lens.extend(runs.iter().map(|run| run.rows));
        }
        self.codes.clear();
        self.codes.extend(codes.iter().map(|code| code.0));
        self.open.extend(&self.users, &self.lens, &self.codes);
        Ok(())
    }

    fn close_chunk(&mut self) -> Result<()> {
        let (chunk, grown) = self.open.close(&self.builder.users)?;
        self.builder.control.charge_memory(grown + chunk.bytes() as u64, READING)?;
        if let Ok(chunks) = &mut *self.builder.closed.lock().map_err(|_| POISONED)? {
            chunks.push(chunk);
        }
        Ok(())
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.close_chunk() {
            // `finish` reports it; a poisoned lock it reports by itself.
            if let Ok(mut closed) = self.builder.closed.lock() {
                *closed = Err(error);
            }
        }
    }
}
