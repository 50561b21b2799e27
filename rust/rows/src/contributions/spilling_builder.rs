//! A builder that is emptied whenever it holds too much, while several threads fill it.
//!
//! Threads work in steps of a few thousand rows. In a step a thread holds the builder for reading. The thread that finds
//! it too full holds it for writing: all others have ended their steps then, and wait. So the builder with all rows so
//! far is replaced by an empty one, and nobody has codes of the old one in use. A thread that waits for work holds
//! nothing, so nobody waits for it.
//!
//! Where a table saves nothing, the first builder is the last one: later rows go straight to the disk (`straight`). If
//! the rows of a user stand side by side, it is emptied early if the input is sure to be too large.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use dpsel_exact::numeric::widths::index;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::builder::{ContributionsBuilder, PartOfThread};
use super::order::RowOrder;
use super::totals::Later;
use super::unindexed_rows::{Collector, UnindexedWay, needs_no_table};
use super::user_items::Contributions;
use crate::ingest::{Code, Codes, ItemCode, ItemSchema, OwnCodes, Payload, Sink, UserCode};
use crate::runtime::Control;

const POISONED: Error = Error::Internal("a thread failed while it emptied the rows");

/// Rows of each thread after which the input so far tells how many rows the whole has. Rows of unfinished batches, which
/// are not counted as read yet, hardly matter then.
const EARLY: u64 = if cfg!(any(test, feature = "testing")) { 1 << 12 } else { 1 << 20 };
/// The least bytes of a row in a builder.
const ROW: u64 = 4;
/// Bytes of memory for each row of the input that integers may be their own codes for. There is one such integer for
/// sixteen of these rows at most, so what is kept for them is below a twentieth of the memory.
const OWN: u64 = 64;

/// Takes the rows that were collected until the builder was too full. Users may come again later.
pub(crate) type Spill<'a> = dyn Fn(Contributions) -> Result<()> + Sync + 'a;

/// A builder that hands its rows over when it holds too much.
pub struct SpillingBuilder<'a> {
    current: RwLock<OpenBuilder>,
    schema: ItemSchema,
    order: RowOrder,
    control: &'a Control,
    most: u64,
    later: &'a Later<'a>,
    /// Rows of an open chunk at which it is closed, at the latest: all open chunks together take an eighth of `most`.
    open: usize,
    spill: &'a Spill<'a>,
    /// The way for rows without a table, if there is one.
    straight: Option<UnindexedWay<'a>>,
    collectors: Mutex<Vec<Arc<Mutex<Collector<'a>>>>>,
    /// The runs of users and the rows so far.
    runs: AtomicU64,
    rows: AtomicU64,
}

impl fmt::Debug for SpillingBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillingBuilder").finish_non_exhaustive()
    }
}

/// The builder that is filled now.
struct OpenBuilder {
    builder: ContributionsBuilder,
    /// How many were emptied before it.
    number: u64,
    /// Whether no builder comes after this one, which stays empty.
    is_last: bool,
    /// What each thread has of it.
    parts: Mutex<Vec<Arc<Mutex<PartOfThread>>>>,
}

impl OpenBuilder {
    /// Take all rows, and start anew.
    fn empty(&mut self, control: &Control) -> Result<ContributionsBuilder> {
        for part in self.parts.get_mut().unwrap_or_else(PoisonError::into_inner) {
            let mut part = part.lock().map_err(|_| POISONED)?;
            self.builder.take(&mut part)?;
        }
        self.number += 1;
        Ok(std::mem::replace(&mut self.builder, ContributionsBuilder::new(&apart(control))))
    }
}

/// The control of one filling, whose memory is counted apart and has no limit of its own.
fn apart(control: &Control) -> Control {
    Control::new(control.threads().try_into().ok(), None)
}

impl<'a> SpillingBuilder<'a> {
    /// An empty builder, whose rows go to `spill` when they take more than `most` bytes, or in the end if what comes
    /// `later` would exceed the limit of memory. At most `rows` rows have a user and an item, as far as that is known. If
    /// these are many and memory is not scarce, small integers are their own codes in the first builder.
    pub fn new(
        (schema, order): (ItemSchema, RowOrder),
        (most, later): (u64, &'a Later<'a>),
        (rows, key, control): (u64, &ReleaseKey, &'a Control),
        spill: &'a Spill<'a>,
        straight: Option<UnindexedWay<'a>>,
    ) -> Self {
        let builder = ContributionsBuilder::for_rows(rows.min(most / OWN), key, &apart(control));
        let filling = OpenBuilder { builder, number: 0, is_last: false, parts: Mutex::default() };
        Self {
            current: RwLock::new(filling),
            schema,
            order,
            control,
            most,
            later,
            open: index(most / 64) / control.threads(),
            spill,
            straight,
            collectors: Mutex::default(),
            runs: AtomicU64::new(0),
            rows: AtomicU64::new(0),
        }
    }

    /// A worker for one thread.
    pub fn worker(&self) -> SpillingWorker<'_, 'a> {
        let part = Arc::<Mutex<PartOfThread>>::default();
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.parts.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&part));
        let number = current.number;
        drop(current);
        SpillingWorker { shared: self, held: None, straight: None, part, number }
    }

    /// All rows, if they were never too many and the job fits into memory with them. Otherwise the last ones go the way of
    /// those before, and there are none.
    ///
    /// # Errors
    /// Capacity or memory limit; those of `spill`.
    pub fn finish(self) -> Result<Option<Contributions>> {
        let mut filling = self.current.into_inner().map_err(|_| POISONED)?;
        let is_first = filling.number == 0;
        let mut builder = filling.empty(self.control)?;
        if is_first && builder.held_memory() <= self.most && builder.fits(self.control, self.later)? {
            return builder.under(self.control)?.finish(self.schema, &self.order).map(Some);
        }
        if !filling.is_last {
            // Before memory is taken again.
            self.control.go_to_disk();
            (self.spill)(builder.finish(self.schema, &self.order)?)?;
        }
        for collector in self.collectors.into_inner().map_err(|_| POISONED)? {
            // Otherwise: a worker is left, and its rows would be missing.
            let collector = Arc::into_inner(collector).ok_or(POISONED)?;
            collector.into_inner().map_err(|_| POISONED)?.end()?;
        }
        Ok(None)
    }

    /// Hand over the rows of a filling, unless another thread has done so.
    fn empty(&self, number: u64) -> Result<()> {
        let mut current = self.current.write().map_err(|_| POISONED)?;
        if current.number != number {
            return Ok(());
        }
        // Before memory is freed and taken again.
        self.control.go_to_disk();
        let mut full = current.empty(self.control)?;
        let is_first = current.number == 1;
        if is_first && self.needs_no_table(full.users()? as u64) {
            current.is_last = true;
            // No thread puts anything into them any more.
            for part in current.parts.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
                *part.lock().map_err(|_| POISONED)? = PartOfThread::default();
            }
        }
        self.control.check()?;
        (self.spill)(full.finish(self.schema.clone(), &self.order)?)
    }

    /// Whether rows of a user stand side by side, so that they go straight to the disk.
    fn goes_straight(&self) -> bool {
        self.needs_no_table(0)
    }

    /// Whether rows beyond the first builder, which has so many users, go straight to the disk.
    fn needs_no_table(&self, users: u64) -> bool {
        let [rows, runs] = [&self.rows, &self.runs].map(|number| number.load(Ordering::Relaxed));
        self.straight.is_some() && needs_no_table(rows, runs, users)
    }

    /// Whether a builder has to be emptied. Only the first one may be the last, so only that is emptied early.
    fn is_full(&self, filling: &OpenBuilder) -> bool {
        filling.builder.held_memory() > self.most || filling.number == 0 && self.is_sure_to_be_full()
    }

    /// Whether the rows alone of the whole input will take a quarter more than there is room for, and go straight to the
    /// disk.
    fn is_sure_to_be_full(&self) -> bool {
        let rows = self.rows.load(Ordering::Relaxed);
        if rows < EARLY * self.control.threads() as u64 || !self.goes_straight() {
            return false;
        }
        let whole = |(read, size): (u64, u64)| u128::from(rows * ROW) * u128::from(size) / u128::from(read);
        self.control.read_of().map(whole).is_some_and(|whole| whole * 4 > u128::from(self.most) * 5)
    }

    /// What collects the rows of one thread that go straight to the disk.
    fn collector(&self) -> Result<Arc<Mutex<Collector<'a>>>> {
        let way = self.straight.as_ref().ok_or(NO_STEP)?;
        let collector = Arc::new(Mutex::new(Collector::new(way)));
        self.collectors.lock().map_err(|_| POISONED)?.push(Arc::clone(&collector));
        Ok(collector)
    }
}

/// One thread's access to a [`SpillingBuilder`].
pub struct SpillingWorker<'r, 'a> {
    shared: &'r SpillingBuilder<'a>,
    /// The builder, during a step.
    held: Option<RwLockReadGuard<'r, OpenBuilder>>,
    /// What takes the rows if no builder does any more.
    straight: Option<Arc<Mutex<Collector<'a>>>>,
    part: Arc<Mutex<PartOfThread>>,
    /// The number of the builder whose codes this thread knows.
    number: u64,
}

impl fmt::Debug for SpillingWorker<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillingWorker").finish_non_exhaustive()
    }
}

const NO_STEP: Error = Error::Internal("rows came outside of a step");

impl Sink for SpillingWorker<'_, '_> {
    fn begin(&mut self) -> Result<Codes> {
        if let Some(collector) = &self.straight {
            collector.lock().map_err(|_| POISONED)?.begin_step();
            return Ok(Codes::OfStep);
        }
        let held = self.shared.current.read().map_err(|_| POISONED)?;
        if held.is_last {
            drop(held);
            self.straight = Some(self.shared.collector()?);
            return Ok(Codes::OfStep);
        }
        let is_new = std::mem::replace(&mut self.number, held.number) != held.number;
        self.held = Some(held);
        Ok(if is_new { Codes::Void } else { Codes::Kept })
    }

    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        if let Some(collector) = &self.straight {
            collector.lock().map_err(|_| POISONED)?.intern(digests, codes);
            return Ok(());
        }
        let filling = self.held.as_ref().ok_or(NO_STEP)?;
        filling.builder.intern(&mut *self.part.lock().map_err(|_| POISONED)?, digests, payload, codes)
    }

    fn own_codes<C: Code>(&mut self, integers: &[u64]) -> Result<Option<OwnCodes>> {
        let Some(filling) = &self.held else {
            // Rows go without a table, or come outside of a step, which fails when they are interned.
            return Ok(None);
        };
        filling.builder.own_codes::<C>(&mut *self.part.lock().map_err(|_| POISONED)?, integers)
    }

    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        if let Some(collector) = &self.straight {
            return collector.lock().map_err(|_| POISONED)?.push(users, lens, items);
        }
        self.shared.runs.fetch_add(users.len() as u64, Ordering::Relaxed);
        self.shared.rows.fetch_add(items.len() as u64, Ordering::Relaxed);
        let filling = self.held.as_ref().ok_or(NO_STEP)?;
        let mut part = self.part.lock().map_err(|_| POISONED)?;
        filling.builder.push(&mut part, users, lens, items)?;
        // Rows of an open chunk are not counted yet.
        if part.open.rows() > self.shared.open { filling.builder.close(&mut part.open) } else { Ok(()) }
    }

    fn end(&mut self) -> Result<()> {
        if self.straight.is_some() {
            return Ok(());
        }
        let filling = self.held.take().ok_or(NO_STEP)?;
        let is_full = self.shared.is_full(&filling);
        drop(filling);
        if is_full { self.shared.empty(self.number) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
