//! Builds contributions on several threads: interns users and items, then groups rows by user.

use std::sync::Mutex;

use dpsel_exact::random::{Digest, Digester, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::chunk::{Band, OpenChunk};
use super::grouping::{self, group_rows};
use super::identity_codes::{Own, WithoutItem};
use super::interner::{Interner, READING, ShardBuffers};
use super::order::RowOrder;
use super::parts::BANDS;
use super::records::NoRecord;
use super::rows::LargestCodes;
use super::sharding::Sharding;
use super::totals::{Later, Totals};
use super::user_items::Contributions;
use super::users::Users;
use super::vocabulary::Vocabulary;
use crate::ingest::{Code, ItemCode, ItemSchema, KeyStore, OwnCodes, Payload, Side, Sink, UserCode};
use crate::runtime::{Control, parallel};

/// Rows of a thread's open chunk at which it is closed.
const CHUNK_ROWS: usize = 1 << 19;

/// Builds contributions. The threads that read share it, and each has a [`Worker`] of its own.
#[derive(Debug)]
pub struct ContributionsBuilder {
    users: Interner<NoRecord>,
    items: Interner<KeyStore>,
    own_users: Option<Own>,
    own_items: Option<Own>,
    /// Of the users whose integers are their own codes.
    without_item: Mutex<WithoutItem>,
    sharding: Sharding,
    /// `closed[b]` has the rows of band `b` of every closed chunk.
    closed: Mutex<Result<Vec<Vec<Band>>>>,
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
            own_users: None,
            own_items: None,
            without_item: Mutex::default(),
            sharding,
            closed: Mutex::new(Ok((0..BANDS).map(|_| Vec::new()).collect())),
            control: control.clone(),
        }
    }

    /// An empty builder for an input of at most `rows` rows with a user and an item. If these are many, small integers are
    /// their own codes.
    pub(super) fn for_rows(rows: u64, key: &ReleaseKey, control: &Control) -> Self {
        let own = |purpose| Own::new(rows, Digester::new(key, purpose));
        let (own_users, own_items) = (own(Purpose::UserDigest), own(Purpose::ItemDigest));
        Self { own_users, own_items, ..Self::new(control) }
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

    /// Whether a job can group these rows and do what comes later under its limit of memory. `later` says how many bytes that
    /// takes at most.
    pub(super) fn fits(&mut self, control: &Control, later: &Later<'_>) -> Result<bool> {
        let Some(limit) = control.memory_limit() else {
            return Ok(true);
        };
        let Ok(bands) = self.closed.get_mut().map_err(|_| POISONED)? else {
            // This error ends the job when the rows are grouped.
            return Ok(true);
        };
        let chunks: usize = bands.iter().flatten().map(Band::bytes).sum();
        let rows = bands.iter().flatten().map(Band::rows).sum();
        let totals = Totals { users: self.users.len()?, codes: self.items.code_bound()?, rows };
        let places = self.users.code_bound()?;
        let grouping = grouping::bytes(rows, places);
        let after = later(totals).saturating_sub(grouping::bytes_given_back(chunks, 0, places));
        let held = control.held_memory() + self.held_memory();
        Ok(held + (grouping + after) as u64 <= limit)
    }

    /// A worker for one thread. Dropping it adds its last rows.
    pub fn worker(&self) -> Worker<'_> {
        Worker { builder: self, part: PartOfThread::default() }
    }

    /// Append the codes of the users or items with these digests to `codes`.
    pub(super) fn intern<C: Code>(
        &self,
        part: &mut PartOfThread,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        let PartOfThread { scratch, codes: interned, .. } = part;
        interned.clear();
        let grown = match C::SIDE {
            Side::User => self.users.intern(digests, &(), scratch, interned)?,
            Side::Item => self.items.intern(digests, payload, scratch, interned)?,
        };
        codes.extend(interned.iter().copied().map(C::new));
        self.control.charge_memory(grown, READING)
    }

    /// The integers that are their own codes; see [`Sink::own_codes`].
    pub(super) fn own_codes<C: Code>(
        &self,
        part: &mut PartOfThread,
        integers: &[u64],
    ) -> Result<Option<OwnCodes>> {
        match C::SIDE {
            Side::User => part.own_users.begun(self.own_users.as_ref(), integers, &self.users),
            Side::Item => part.own_items.begun(self.own_items.as_ref(), integers, &self.items),
        }
    }

    /// Add rows to the open chunk of a thread.
    pub(super) fn push(
        &self,
        part: &mut PartOfThread,
        users: &[UserCode],
        lens: Option<&[u32]>,
        items: &[ItemCode],
    ) -> Result<()> {
        if let (OwnOfThread::Own(own), Some(lens)) = (part.own_users, lens) {
            let without_item =
                users.iter().zip(lens).filter(|(user, len)| **len == 0 && user.0 < own.below());
            without_item.for_each(|(user, _)| part.without_item.note(user.0));
        }
        if part.open.rows() + items.len() > CHUNK_ROWS {
            self.close(&mut part.open)?;
        }
        part.open.extend(users, lens, items);
        Ok(())
    }

    /// Take all that a thread has, which knows no codes then.
    pub(super) fn take(&self, part: &mut PartOfThread) -> Result<()> {
        let PartOfThread { mut open, without_item, .. } = std::mem::take(part);
        let noted = self.without_item.lock().map_err(|_| POISONED);
        self.close(&mut open).and(noted.map(|mut noted| noted.merge(&without_item)))
    }

    /// Add the rows of an open chunk.
    pub(super) fn close(&self, open: &mut OpenChunk) -> Result<()> {
        let largest = |own: &Option<Own>| own.as_ref().map_or(0, Own::largest);
        let chunk =
            open.close(LargestCodes { user: largest(&self.own_users), item: largest(&self.own_items) });
        let bytes: usize = chunk.iter().map(Band::bytes).sum();
        self.control.charge_memory(bytes as u64, READING)?;
        if let Ok(bands) = &mut *self.closed.lock().map_err(|_| POISONED)? {
            bands.iter_mut().zip(chunk).for_each(|(bands, band)| bands.push(band));
        }
        Ok(())
    }

    /// Group all rows by user, as the order says.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn finish(mut self, schema: ItemSchema, order: &RowOrder) -> Result<Contributions> {
        let bands = self.closed.into_inner().map_err(|_| POISONED)??;
        let threads = parallel::threads_for(self.users.len()? + self.items.len()?, &self.control);
        let (users, items) = (self.users.into_shards(threads)?, self.items.into_shards(threads)?);
        let own = |own: Option<Own>| Ok(own.map(Own::digests).transpose()?.flatten());
        let vocabulary = Vocabulary::new(items, self.sharding, schema, own(self.own_items)?);
        let without_item = self.without_item.into_inner().map_err(|_| POISONED)?;
        let users = Users::new(users, self.sharding, own(self.own_users)?, without_item);
        self.control.check()?;
        self.control.end_reading();
        let grouped = group_rows(&users, bands, vocabulary, order, &self.control)?;
        self.control.end_phase();
        Ok(grouped)
    }
}

const POISONED: Error = Error::Internal("a reading thread failed");

/// One thread's access to a [`ContributionsBuilder`].
#[derive(Debug)]
pub struct Worker<'a> {
    builder: &'a ContributionsBuilder,
    part: PartOfThread,
}

/// What one thread has of a builder: its last rows, and what it knows of codes.
#[derive(Debug, Default)]
pub(super) struct PartOfThread {
    pub(super) open: OpenChunk,
    scratch: ShardBuffers,
    codes: Vec<u32>,
    own_users: OwnOfThread,
    own_items: OwnOfThread,
    without_item: WithoutItem,
}

/// What one thread knows of the integers that are their own codes.
#[derive(Debug, Default, Clone, Copy)]
enum OwnOfThread {
    #[default]
    NotBegun,
    Interned,
    Own(OwnCodes),
}

impl OwnOfThread {
    /// Begin with these integers, unless that was done. No integers decide nothing.
    fn begun<R>(
        &mut self,
        all: Option<&Own>,
        integers: &[u64],
        interner: &Interner<R>,
    ) -> Result<Option<OwnCodes>> {
        if matches!(self, Self::NotBegun) && !integers.is_empty() {
            let own = all.map(|all| all.begin(integers, interner)).transpose()?.flatten();
            *self = own.map_or(Self::Interned, Self::Own);
        }
        Ok(match *self {
            Self::Own(own) => Some(own),
            Self::NotBegun | Self::Interned => None,
        })
    }
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
        self.builder.intern(&mut self.part, digests, payload, codes)
    }

    /// The integers that are their own codes; see [`Sink::own_codes`].
    ///
    /// # Errors
    /// Another thread failed.
    pub(crate) fn own_codes<C: Code>(&mut self, integers: &[u64]) -> Result<Option<OwnCodes>> {
        self.builder.own_codes::<C>(&mut self.part, integers)
    }

    /// Add rows: `lens[i]` consecutive codes of `items` belong to `users[i]`. Without `lens` each user has one code.
    ///
    /// # Errors
    /// Memory limit.
    pub fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        self.builder.push(&mut self.part, users, lens, items)
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
    fn own_codes<C: Code>(&mut self, integers: &[u64]) -> Result<Option<OwnCodes>> {
        Worker::own_codes::<C>(self, integers)
    }
    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        Worker::push(self, users, lens, items)
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.builder.take(&mut self.part) {
            // `finish` reports this error, and a poisoned lock as well.
            if let Ok(mut closed) = self.builder.closed.lock() {
                *closed = Err(error);
            }
        }
    }
}
