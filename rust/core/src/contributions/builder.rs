//! Building contributions from many threads at once: intern users and items, then group rows by user.

use std::sync::Mutex;

use super::chunk::{Chunk, OpenChunk};
use super::grouping::{Users, group_rows};
use super::interner::{Interner, Scratch};
use super::shard::Records;
use super::sharding::Sharding;
use super::{Contributions, ItemCode, ItemOrder, KeyLayout, KeyStore, Payload, UserCode, Vocabulary};
use crate::ingest::ItemSchema;
use crate::random::Digest;
use crate::runtime::Control;
use crate::{Error, Result};

const READING: &str = "reading the rows";

impl<P: Payload> Records<P> for KeyStore {
    fn append(&mut self, payload: &P, rows: impl ExactSizeIterator<Item = usize> + Clone) {
        payload.append_to(rows, self);
    }
    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}

/// Nothing is kept of a user but its digest.
#[derive(Debug)]
pub(super) struct NoRecord;

impl Records<()> for NoRecord {
    fn append(&mut self, _source: &(), _rows: impl ExactSizeIterator<Item = usize> + Clone) {}
    fn bytes(&self) -> usize {
        0
    }
}

/// Rows of a thread's open chunk at which it is closed.
const CHUNK_ROWS: usize = 1 << 19;

/// Shared by the threads that read; each makes its own [`Worker`].
#[derive(Debug)]
pub struct ContributionsBuilder {
    users: Interner<NoRecord>,
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
            users: Interner::new(sharding, || NoRecord),
            items: Interner::new(sharding, || KeyStore::new(layout)),
            sharding,
            closed: Mutex::new(Ok(Vec::new())),
            control: control.clone(),
        }
    }

    /// A handle for one thread. Its last rows are added when it is dropped.
    pub fn worker(&self) -> Worker<'_> {
        Worker { builder: self, open: OpenChunk::default(), scratch: Scratch::default(), codes: Vec::new() }
    }

    /// Group all rows by user, without duplicates, each user's items in the given order.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn finish(self, schema: ItemSchema, order: &ItemOrder) -> Result<Contributions> {
        let chunks = self.closed.into_inner().map_err(|_| POISONED)??;
        let vocabulary = Vocabulary { shards: self.items.into_shards()?, sharding: self.sharding, schema };
        let users = Users::new(self.users.into_shards()?, self.sharding);
        self.control.check()?;
        self.control.end_reading();
        let grouped = group_rows(&users, &chunks, vocabulary, order, &self.control)?;
        self.control.end_phase();
        Ok(grouped)
    }
}

const POISONED: Error = Error::Internal("a reading thread failed");

/// Which column a code stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The column of users.
    User,
    /// The column or columns of items.
    Item,
}

/// A dense code of a user or of an item.
pub trait Code: Copy + Default + std::fmt::Debug {
    /// Which of them.
    const SIDE: Side;
    /// The code with a number.
    fn new(number: u32) -> Self;
    /// The number: about the position in the order of first appearance, so frequent keys have small ones.
    fn number(self) -> u32;
}

/// One thread's access to a [`ContributionsBuilder`].
#[derive(Debug)]
pub struct Worker<'a> {
    builder: &'a ContributionsBuilder,
    open: OpenChunk,
    scratch: Scratch,
    codes: Vec<u32>,
}

impl Worker<'_> {
    /// Codes of the users or items with these digests, appended to `codes`; keys of new items are taken from
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
        let ContributionsBuilder { users, items, control, .. } = self.builder;
        self.codes.clear();
        let grown = match C::SIDE {
            Side::User => users.intern(digests, &(), &mut self.scratch, &mut self.codes)?,
            Side::Item => items.intern(digests, payload, &mut self.scratch, &mut self.codes)?,
        };
        codes.extend(self.codes.iter().copied().map(C::new));
        control.charge_memory(grown, READING)
    }

    /// Add rows: `lens[i]` consecutive ones of `items` belong to `users[i]`, one each without `lens`.
    ///
    /// # Errors
    /// Memory limit.
    pub fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        if self.open.rows() + items.len() > CHUNK_ROWS {
            self.close_chunk()?;
        }
        self.open.extend(users, lens, items);
        Ok(())
    }

    fn close_chunk(&mut self) -> Result<()> {
        let chunk = self.open.close();
        self.builder.control.charge_memory(chunk.bytes() as u64, READING)?;
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
