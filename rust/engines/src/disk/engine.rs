//! The engine: rows are read into memory, and go to scratch when they are too many for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use dpsel_core::counting::{CountNoise, RestNoise, RestSums};
use dpsel_core::task::{
    self, AfterRounds, Engine, Found, Held, ItemFacts, JobSpec, Plan, PublicLists, ToCount,
};
use dpsel_core::weighting::{FilledSlots, MatchingSlots};
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::widths::clipped;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{OpenSource, Source, again};
use dpsel_rows::runtime::Control;
use dpsel_rows::scratch::{Scratch, ScratchSpace, Stored};

use super::reading::{self, Lookup, Read, RowSink, StoredRows, TakenOut};
use super::rounds::Rounds;
use super::threads::{LISTED, Output, Stages, WEIGHED, divided};
use crate::exchange::{Decisions, ExchangeJob, Packed, ReleasedSet};

/// Puts rows into scratch that memory cannot hold.
pub(super) struct DiskEngine<'a> {
    key: &'a ReleaseKey,
    stages: Stages<'a>,
    scratch: Scratch,
}

impl<'a> DiskEngine<'a> {
    /// # Errors
    /// Those of scratch.
    pub(super) fn new(key: &'a ReleaseKey, stages: Stages<'a>, space: ScratchSpace) -> Result<Self> {
        Ok(Self { key, stages, scratch: Scratch::new(space)? })
    }
}

impl Engine for DiskEngine<'_> {
    fn control(&self) -> &Control {
        self.stages.control
    }

    fn again(&self, source: &Source) -> Result<Option<Source>> {
        again(source, self.stages.control)
    }

    fn read<'e>(
        &'e self,
        source: OpenSource,
        again: Option<Source>,
        plan: &Plan<'e>,
    ) -> Result<Box<dyn Held<'e> + 'e>> {
        let (schema, order) = (source.layout().item_schema()?, plan.read_order());
        let wanted = reading::Wanted {
            counts: plan.has_rounds,
            names: plan.names && again.is_none() && schema.integer_kind().is_none(),
            taken_out: match (plan.lists.remove_items(), plan.after) {
                (false, _) => TakenOut::Nothing,
                (true, AfterRounds::Nothing) => TakenOut::Rest,
                (true, AfterRounds::NoisyNumbers(_) | AfterRounds::Users) => TakenOut::RestAndAll,
            },
            lines: plan.has_lines(),
            parts: plan.parts,
        };
        let rows = RowSink::new(self.key, self.stages, &self.scratch, wanted)?;
        let prepare = (
            |rows: &mut _| plan.lists.remove_excluded_from(rows),
            |rows: &mut _| plan.lists.remove_from(rows),
        );
        match rows.read(source, (schema.clone(), order), plan.later, &prepare)? {
            Read::InMemory(rows) => {
                Ok(Box::new(task::MemoryRows::new(rows, plan, (self.key, self.control()))?))
            }
            Read::Stored(rows) => {
                let (mut rows, stages) = self.divided(rows, plan)?;
                let (key, scratch, control) = (self.key, &self.scratch, self.control());
                let names = rows.names.take();
                let lookup =
                    Lookup { schema, columns: plan.columns, key, control, again, names, known: None };
                let (lists, keeps_rows) = (plan.lists, !matches!(plan.after, AfterRounds::Nothing));
                Ok(Box::new(DiskRows { key, stages, scratch, rows, lookup, lists, keeps_rows }))
            }
        }
    }
}

impl<'a> DiskEngine<'a> {
    /// The rows in so many buckets that each thread can hold one.
    fn divided(&self, rows: StoredRows, plan: &Plan<'_>) -> Result<(StoredRows, Stages<'a>)> {
        // Counting gathers the rows of whole buckets into tables, and has rows of its own where some were taken out.
        let gathers = match plan.after {
            AfterRounds::Nothing => !plan.has_rounds,
            AfterRounds::NoisyNumbers(_) | AfterRounds::Users => rows.held.is_none(),
        };
        let divided = |stored, bytes| divided(stored, bytes, self.key, self.stages, &self.scratch);
        let (contributions, stages) = divided(rows.contributions, if gathers { WEIGHED } else { LISTED })?;
        let held = rows.held.map(|held| divided(held, WEIGHED)).transpose()?;
        Ok((StoredRows { contributions, held: held.map(|(held, _)| held), ..rows }, stages))
    }
}

/// All rows of a job, in scratch.
struct DiskRows<'e> {
    key: &'e ReleaseKey,
    stages: Stages<'e>,
    scratch: &'e Scratch,
    rows: StoredRows,
    lookup: Lookup<'e>,
    lists: &'e PublicLists,
    /// Whether something is counted after the rounds.
    keeps_rows: bool,
}

impl<'e> DiskRows<'e> {
    fn rounds(&self, job: &JobSpec) -> Rounds<'e> {
        let job = ExchangeJob::new(job.clone(), self.key.clone()).with_rows_together(self.stages.memory.rows);
        Rounds { job, stages: self.stages, scratch: self.scratch }
    }
}

impl<'e> Held<'e> for DiskRows<'e> {
    fn users_by_size(&self, sizes: &[u32]) -> Result<Vec<u64>> {
        self.stages.users_by_size(&self.rows.contributions, sizes, self.key)
    }

    fn filled_slots(
        self: Box<Self>,
        _seen: L0Bound,
        _slots: MatchingSlots,
    ) -> Result<(FilledSlots, Box<dyn Held<'e> + 'e>)> {
        Err(Error::Internal("a look at what Matching fills, beyond memory"))
    }

    fn users_per_item(self: Box<Self>) -> Result<Vec<(u32, u64)>> {
        let items = UsersOfItems::default();
        let rounds = self.rounds(&JobSpec::counting(self.lookup.columns.clone(), None));
        rounds.total(&self.rows.contributions, (None, false, None), || &items)?;
        Ok(items.0.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect())
    }

    fn released(self: Box<Self>, job: &JobSpec) -> Result<(Found, Box<dyn ItemFacts + 'e>)> {
        let rounds = self.rounds(job);
        let Self {
            rows: StoredRows { contributions, held, counts, .. }, mut lookup, lists, keeps_rows, ..
        } = *self;
        let contributions = Arc::new(contributions);
        let held = held.map(Arc::new).or_else(|| keeps_rows.then(|| Arc::clone(&contributions)));
        let mut found = found(&rounds.decided(contributions, counts)?)?;
        if job.closes() {
            found = lookup.close(&found.digests, lists)?;
        }
        let public = lists.public_digests();
        Ok((found, Box::new(DiskItems { rounds, held, lookup, public })))
    }

    fn counted(
        self: Box<Self>,
        job: &JobSpec,
        wanted: ToCount<'_>,
    ) -> Result<(Found, Box<dyn ItemFacts + 'e>)> {
        let rounds = self.rounds(job);
        let (set, most) = match wanted {
            ToCount::All(most) => (None, most),
            ToCount::Listed(items) => (Some(ReleasedSet::list(items)), None),
        };
        let found = found(&rounds.counted(&self.rows.contributions, set.as_ref(), true, most)?)?;
        let (lookup, public) = (self.lookup, self.lists.public_digests());
        Ok((found, Box::new(DiskItems { rounds, held: None, lookup, public })))
    }
}

fn found(decided: &Packed) -> Result<Found> {
    Ok(Found::by_digest(Decisions::unpack(decided.bytes())?.iter()))
}

/// What is left in scratch when the items are found.
struct DiskItems<'e> {
    rounds: Rounds<'e>,
    /// All rows of every user, if something is counted.
    held: Option<Arc<Stored>>,
    lookup: Lookup<'e>,
    public: Vec<Digest>,
}

impl DiskItems<'_> {
    fn held(&self) -> Result<&Stored> {
        self.held.as_deref().ok_or(Error::Internal("nothing was kept to be counted"))
    }

    /// The released and the public items.
    fn published(&self, released: &Found) -> Vec<Digest> {
        [released.digests.as_slice(), &self.public].concat()
    }
}

impl ItemFacts for DiskItems<'_> {
    fn noisy_numbers(&self, released: &Found, noise: &CountNoise) -> Result<Vec<i64>> {
        self.rounds.noisy_numbers(self.held()?, &self.published(released), noise)
    }

    fn rest(&self, released: &Found, _noise: &RestNoise) -> Result<RestSums> {
        self.rounds.rest(self.held()?, &self.published(released))
    }

    fn users(&self, released: &Found) -> Result<Vec<i64>> {
        let set = ReleasedSet::list(&released.digests);
        let counted = self.rounds.counted(self.held()?, Some(&set), false, None)?;
        let counted = Decisions::unpack(counted.bytes())?;
        let users: Option<_> = released.digests.iter().map(|item| counted.get(*item)).collect();
        users.ok_or(Error::Internal("a released item that nobody holds"))
    }

    fn names(self: Box<Self>, items: &Found) -> Result<RecordBatch> {
        self.lookup.into_items(&items.digests)
    }
}

/// How many items have how many users.
#[derive(Debug, Default)]
struct UsersOfItems(Mutex<BTreeMap<u32, u64>>);

impl Output for &UsersOfItems {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let packed = Packed::gathered(std::slice::from_ref(batch))?;
        let mut items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, users) in Decisions::each(packed.bytes())? {
            *items.entry(clipped(users.unsigned_abs())).or_default() += 1;
        }
        Ok(())
    }
}
