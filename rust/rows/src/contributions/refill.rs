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
use super::grouped::Contributions;
use super::order::RowOrder;
use super::straight::{Collector, Way, needs_no_table};
use super::totals::Later;
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
pub struct Refill<'a> {
    current: RwLock<Filling>,
    schema: ItemSchema,
    order: RowOrder,
    control: &'a Control,
    most: u64,
    later: &'a Later<'a>,
    /// Rows of an open chunk at which it is closed, at the latest: all open chunks together take an eighth of `most`.
    open: usize,
    spill: &'a Spill<'a>,
    /// The way for rows without a table, if there is one.
    straight: Option<Way<'a>>,
    collectors: Mutex<Vec<Arc<Mutex<Collector<'a>>>>>,
    /// The runs of users and the rows so far.
    runs: AtomicU64,
    rows: AtomicU64,
}

impl fmt::Debug for Refill<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refill").finish_non_exhaustive()
    }
}

/// The builder that is filled now.
struct Filling {
    builder: ContributionsBuilder,
    /// How many were emptied before it.
    number: u64,
    /// Whether no builder comes after this one, which stays empty.
    is_last: bool,
    /// What each thread has of it.
    parts: Mutex<Vec<Arc<Mutex<PartOfThread>>>>,
}

impl Filling {
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

impl<'a> Refill<'a> {
    /// An empty builder, whose rows go to `spill` when they take more than `most` bytes, or in the end if what comes
    /// `later` would exceed the limit of memory. At most `rows` rows have a user and an item, as far as that is known. If
    /// these are many and memory is not scarce, small integers are their own codes in the first builder.
    pub fn new(
        (schema, order): (ItemSchema, RowOrder),
        (most, later): (u64, &'a Later<'a>),
        (rows, key, control): (u64, &ReleaseKey, &'a Control),
        spill: &'a Spill<'a>,
        straight: Option<Way<'a>>,
    ) -> Self {
        let builder = ContributionsBuilder::for_rows(rows.min(most / OWN), key, &apart(control));
        let filling = Filling { builder, number: 0, is_last: false, parts: Mutex::default() };
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
    pub fn worker(&self) -> RefillWorker<'_, 'a> {
        let part = Arc::<Mutex<PartOfThread>>::default();
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.parts.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&part));
        let number = current.number;
        drop(current);
        RefillWorker { refill: self, held: None, straight: None, part, number }
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
    fn is_full(&self, filling: &Filling) -> bool {
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

/// One thread's access to a [`Refill`].
pub struct RefillWorker<'r, 'a> {
    refill: &'r Refill<'a>,
    /// The builder, during a step.
    held: Option<RwLockReadGuard<'r, Filling>>,
    /// What takes the rows if no builder does any more.
    straight: Option<Arc<Mutex<Collector<'a>>>>,
    part: Arc<Mutex<PartOfThread>>,
    /// The number of the builder whose codes this thread knows.
    number: u64,
}

impl fmt::Debug for RefillWorker<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefillWorker").finish_non_exhaustive()
    }
}

const NO_STEP: Error = Error::Internal("rows came outside of a step");

impl Sink for RefillWorker<'_, '_> {
    fn begin(&mut self) -> Result<Codes> {
        if let Some(collector) = &self.straight {
            collector.lock().map_err(|_| POISONED)?.begin_step();
            return Ok(Codes::OfStep);
        }
        let held = self.refill.current.read().map_err(|_| POISONED)?;
        if held.is_last {
            drop(held);
            self.straight = Some(self.refill.collector()?);
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
        self.refill.runs.fetch_add(users.len() as u64, Ordering::Relaxed);
        self.refill.rows.fetch_add(items.len() as u64, Ordering::Relaxed);
        let filling = self.held.as_ref().ok_or(NO_STEP)?;
        let mut part = self.part.lock().map_err(|_| POISONED)?;
        filling.builder.push(&mut part, users, lens, items)?;
        // Rows of an open chunk are not counted yet.
        if part.open.rows() > self.refill.open { filling.builder.close(&mut part.open) } else { Ok(()) }
    }

    fn end(&mut self) -> Result<()> {
        if self.straight.is_some() {
            return Ok(());
        }
        let filling = self.held.take().ok_or(NO_STEP)?;
        let is_full = self.refill.is_full(&filling);
        drop(filling);
        if is_full { self.refill.empty(self.number) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use arrow_schema::DataType;
    use dpsel_exact::random::{Purpose, ReleaseKey};

    use super::*;
    use crate::contributions::straight::{Runs, Straight};
    use crate::contributions::testing::{Integers, coded, sets};
    use crate::ingest::testing::digests;

    /// Counts the rows that go straight.
    struct Counted<'a>(&'a AtomicU64);

    impl Straight for Counted<'_> {
        fn take(&mut self, runs: &Runs) -> Result<()> {
            self.0.fetch_add(runs.items.len() as u64, Ordering::Relaxed);
            Ok(())
        }

        fn end(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    const ROWS: u64 = 400_000;
    const STEP: u64 = 8000;
    const SIDE_BY_SIDE: u64 = 4;

    /// Push rows of users with so many items, at first of others; returns the rows that were spilled from tables, went
    /// straight, and stayed, and the number of these tables.
    fn pushed(size: Option<u64>, [first_each, then_each]: [u64; 2], most: u64) -> [u64; 4] {
        let (control, key) = (Control::new(1.try_into().ok(), None), ReleaseKey::insecure_test([7; 32]));
        control.set_size(size);
        let [spilled, straight, tables] = [0; 3].map(AtomicU64::new);
        let spill = |rows: Contributions| {
            tables.fetch_add(1, Ordering::Relaxed);
            spilled.fetch_add(rows.rows as u64, Ordering::Relaxed);
            Ok(())
        };
        let begin = || -> Box<dyn Straight + '_> { Box::new(Counted(&straight)) };
        let schema = ItemSchema::new([("item", &DataType::UInt64)]).unwrap();
        let way = Some(Way { rows: 1000, begin: &begin });
        let refill = Refill::new((schema, RowOrder::Any), (most, &|_| 0), (0, &key, &control), &spill, way);
        let mut worker = refill.worker();
        for first in (0..ROWS).step_by(index(STEP)) {
            let each = if first < ROWS / 4 { first_each } else { then_each };
            // Users of few rows side by side come again and again.
            let met = if each < SIDE_BY_SIDE { 1000 } else { u64::MAX };
            let users: Vec<u64> = (first / each..(first + STEP) / each).map(|user| user % met).collect();
            let items: Vec<u64> = (first..first + STEP).collect();
            let (mut user_codes, mut item_codes) = (Vec::new(), Vec::new());
            worker.begin().unwrap();
            let digest = |keys: &[u64], purpose| digests(keys, &key, purpose);
            worker.intern(&digest(&users, Purpose::UserDigest), &Integers, &mut user_codes).unwrap();
            worker.intern(&digest(&items, Purpose::ItemDigest), &Integers, &mut item_codes).unwrap();
            let lens = vec![u32::try_from(each).unwrap(); users.len()];
            worker.push(&user_codes, Some(&lens), &item_codes).unwrap();
            worker.end().unwrap();
            control.advance(STEP).unwrap();
        }
        drop(worker);
        let all_rows = |kept: Contributions| kept.rows as u64;
        let kept = refill.finish().unwrap().map_or(0, all_rows);
        [spilled.into_inner(), straight.into_inner(), kept, tables.into_inner()]
    }

    #[test]
    fn an_input_that_is_far_too_large_soon_goes_straight() {
        let [spilled, straight, kept, tables] = pushed(Some(100 * ROWS), [20; 2], 64 << 20);
        assert_eq!((spilled + straight, kept, tables), (ROWS, 0, 1));
        assert!((1..ROWS / 2).contains(&spilled), "{spilled}");
        for (size, each) in [(None, 20), (Some(ROWS), 20), (Some(10 * ROWS), 20), (Some(100 * ROWS), 2)] {
            assert_eq!(pushed(size, [each; 2], 64 << 20), [0, 0, ROWS, 0], "{size:?}, {each}");
        }
    }

    #[test]
    fn rows_that_stand_side_by_side_too_late_fill_whole_tables() {
        let [spilled, straight, kept, tables] = pushed(Some(100 * ROWS), [2, 80], 2 << 20);
        assert_eq!([spilled, straight, kept], [ROWS, 0, 0]);
        assert!((2..ROWS / STEP / 2).contains(&tables), "{tables}");
    }

    /// Small integers are their own codes in the first builder, and users without an item are known in every one.
    #[test]
    fn users_have_their_items_over_all_builders_whatever_is_its_own_code() {
        let key = ReleaseKey::insecure_test([7; 32]);
        let all = |rows: u64, most: u64| {
            let (control, tables) = (Control::new(1.try_into().ok(), None), Mutex::new(Vec::new()));
            let spill = |rows: Contributions| {
                tables.lock().unwrap().push(sets(&rows));
                Ok(())
            };
            let schema = ItemSchema::new([("item", &DataType::UInt64)]).unwrap();
            let refill =
                Refill::new((schema, RowOrder::Any), (most, &|_| 0), (rows, &key, &control), &spill, None);
            let mut worker = refill.worker();
            for first in (0..ROWS / 4).step_by(1000) {
                let users: Vec<u64> = (first..first + 1000).map(|row| row * 7919 % 5000).collect();
                let lens: Vec<u32> = (0..1000).map(|row| row % 3).collect();
                let items: Vec<u64> = (0..999).map(|row| (first + row) * 104_729 % 1900).collect();
                worker.begin().unwrap();
                let users: Vec<UserCode> = coded(&mut worker, &users, &key, Purpose::UserDigest);
                let items: Vec<ItemCode> = coded(&mut worker, &items, &key, Purpose::ItemDigest);
                worker.push(&users, Some(&lens), &items).unwrap();
                worker.end().unwrap();
            }
            drop(worker);
            let kept = refill.finish().unwrap();
            let mut tables = tables.into_inner().unwrap();
            let number = tables.len();
            tables.extend(kept.map(|kept| sets(&kept)));
            let mut users = BTreeMap::<Digest, BTreeSet<Digest>>::new();
            for (user, items) in tables.into_iter().flatten() {
                users.entry(user).or_default().extend(items);
            }
            (users, number)
        };
        let (expected, none) = all(0, 1 << 30);
        assert_eq!((expected.len(), none), (5000, 0));
        assert_eq!(all(u64::MAX, 1 << 30), (expected.clone(), 0));
        for rows in [0, 1024, u64::MAX] {
            let (users, tables) = all(rows, 1 << 18);
            assert_eq!(users, expected);
            assert!(tables > 1, "{tables}");
        }
    }
}
