//! Builds contributions on several threads: interns users and items, then groups rows by user.

use std::sync::Mutex;

use super::chunk::{Chunk, OpenChunk};
use super::grouped::Contributions;
use super::grouping::{Users, group_rows};
use super::interner::{Interner, Scratch};
use super::order::RowOrder;
use super::records::NoRecord;
use super::sharding::Sharding;
use super::vocabulary::Vocabulary;
use crate::ingest::{Code, ItemCode, ItemSchema, KeyStore, Payload, Side, Sink, UserCode};
use crate::random::Digest;
use crate::runtime::Control;
use crate::{Error, Result};

const READING: &str = "reading the rows";

/// Rows of a thread's open chunk at which it is closed.
const CHUNK_ROWS: usize = 1 << 19;

/// Builds contributions. The threads that read share it, and each has a [`Worker`] of its own.
#[derive(Debug)]
pub struct ContributionsBuilder {
    users: Interner<NoRecord>,
    items: Interner<KeyStore>,
    sharding: Sharding,
    closed: Mutex<Result<Vec<Chunk>>>,
    control: Control,
}

impl ContributionsBuilder {
    /// An empty builder.
    #[must_use]
    pub fn new(control: &Control) -> Self {
        let sharding = Sharding::for_threads(control.threads());
        Self {
            users: Interner::new(sharding, || NoRecord),
            items: Interner::new(sharding, KeyStore::default),
            sharding,
            closed: Mutex::new(Ok(Vec::new())),
            control: control.clone(),
        }
    }

    /// The same rows as part of a job, which counts their memory from now on.
    ///
    /// # Errors
    /// Memory limit.
    pub(super) fn under(self, control: &Control) -> Result<Self> {
        control.charge_memory(self.control.held_memory(), READING)?;
        Ok(Self { control: control.clone(), ..self })
    }

    /// Bytes of the rows and keys, as they are counted.
    pub(super) fn held_memory(&self) -> u64 {
        self.control.held_memory()
    }

    /// Number of users so far.
    pub(super) fn users(&mut self) -> Result<usize> {
        self.users.len()
    }

    /// A worker for one thread. Dropping it adds its last rows.
    pub fn worker(&self) -> Worker<'_> {
        Worker { builder: self, open: OpenChunk::default(), scratch: Scratch::default(), codes: Vec::new() }
    }

    /// Append the numbers of the codes of the users or items with these digests to `codes`.
    pub(super) fn intern(
        &self,
        digests: &[Digest],
        payload: &impl Payload,
        scratch: &mut Scratch,
        codes: &mut Vec<u32>,
        side: Side,
    ) -> Result<()> {
        let grown = match side {
            Side::User => self.users.intern(digests, &(), scratch, codes)?,
            Side::Item => self.items.intern(digests, payload, scratch, codes)?,
        };
        self.control.charge_memory(grown, READING)
    }

    /// Add rows to the open chunk of a thread.
    pub(super) fn push(
        &self,
        open: &mut OpenChunk,
        users: &[UserCode],
        lens: Option<&[u32]>,
        items: &[ItemCode],
    ) -> Result<()> {
        if open.rows() + items.len() > CHUNK_ROWS {
            self.close(open)?;
        }
        open.extend(users, lens, items);
        Ok(())
    }

    /// Add the rows of an open chunk.
    pub(super) fn close(&self, open: &mut OpenChunk) -> Result<()> {
        let chunk = open.close();
        self.control.charge_memory(chunk.bytes() as u64, READING)?;
        if let Ok(chunks) = &mut *self.closed.lock().map_err(|_| POISONED)? {
            chunks.push(chunk);
        }
        Ok(())
    }

    /// Group all rows by user, as the order says.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub(crate) fn finish(self, schema: ItemSchema, order: &RowOrder) -> Result<Contributions> {
        let chunks = self.closed.into_inner().map_err(|_| POISONED)??;
        let vocabulary = Vocabulary::new(self.items.into_shards()?, self.sharding, schema);
        let users = Users::new(self.users.into_shards()?, self.sharding);
        self.control.check()?;
        self.control.end_reading();
        let grouped = group_rows(&users, &chunks, vocabulary, order, &self.control)?;
        self.control.end_phase();
        Ok(grouped)
    }
}

const POISONED: Error = Error::Internal("a reading thread failed");

/// One thread's access to a [`ContributionsBuilder`].
#[derive(Debug)]
pub struct Worker<'a> {
    builder: &'a ContributionsBuilder,
    open: OpenChunk,
    scratch: Scratch,
    codes: Vec<u32>,
}

impl Worker<'_> {
    /// Append the codes of the users or items with these digests to `codes`. Keys of new items are taken from
    /// `payload`, whose row i belongs to digest i.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        self.codes.clear();
        self.builder.intern(digests, payload, &mut self.scratch, &mut self.codes, C::SIDE)?;
        codes.extend(self.codes.iter().copied().map(C::new));
        Ok(())
    }

    /// Add rows: `lens[i]` consecutive codes of `items` belong to `users[i]`. Without `lens` each user has one code.
    ///
    /// # Errors
    /// Memory limit.
    pub fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        self.builder.push(&mut self.open, users, lens, items)
    }
}

impl Sink for Worker<'_> {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        Worker::intern(self, digests, payload, codes)
    }
    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        Worker::push(self, users, lens, items)
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.builder.close(&mut self.open) {
            // `finish` reports this error, and a poisoned lock as well.
            if let Ok(mut closed) = self.builder.closed.lock() {
                *closed = Err(error);
            }
        }
    }
}
