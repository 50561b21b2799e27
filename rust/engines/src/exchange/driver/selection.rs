//! A partition selection, as the driver sees it: checks before the first stage, and the release after the last one.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use dpsel_core::task::{
    self, BeyondMemory, Calibrated, CalibratedSelect, JobSpec, Possible, PublicLists, Release, SelectRequest,
    after_a_look, check_order, sizes_of_a_look,
};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{self, ItemSchema};

use super::job::ExchangeJob;
use super::names::{are_looked_up, changed, in_order, items_of, nodes_of, put_together};
use crate::exchange::rows::Lengths;
use crate::exchange::wire::{Decisions, Packed};

/// A partition selection whose stages run elsewhere.
#[derive(Debug)]
pub struct Selection {
    asked: CalibratedSelect,
    job: ExchangeJob,
    /// The lists, unless the caller has them.
    lists: Arc<PublicLists>,
}

impl Selection {
    /// Check everything that can be checked without rows, and calibrate.
    ///
    /// # Errors
    /// As the local engine for parameters, schema and lists; as [`Selection::check`].
    pub fn new(request: SelectRequest, schema: &Schema, key: ReleaseKey) -> Result<Self> {
        Self::check(&request)?;
        let calibration = request.calibrate_once()?;
        let lists = PublicLists::read(&ingest::layout(schema, &request.columns)?, &request, &key)?.into();
        let before_a_look = Calibrated::of(request, calibration);
        Ok(Self { lists, ..Self::of(before_a_look, key)? })
    }

    /// Refuse a mechanism that cannot run in pieces.
    ///
    /// # Errors
    /// As [`check_order`].
    pub fn check(request: &SelectRequest) -> Result<()> {
        check_order(request, BeyondMemory::Cluster)
    }

    /// The most rounds that there may be, whatever a look chooses.
    ///
    /// # Errors
    /// As the local engine for parameters.
    pub fn most_rounds(&self) -> Result<usize> {
        Possible::of(&self.asked.request).map(|possible| possible.most_rounds())
    }

    /// The classes of users of the look at the data that comes first, if one does.
    #[must_use]
    pub fn sizes(&self) -> Option<Vec<u32>> {
        sizes_of_a_look(&self.asked.request)
    }

    /// The selection that a look chooses. `counted` is what the stage [`ExchangeJob::lengths`] sent.
    ///
    /// # Errors
    /// As the local engine for the choice.
    pub fn after_a_look(&self, counted: &Packed) -> Result<Self> {
        let total = |sizes: &[u32]| Ok(Lengths { sizes: sizes.to_vec() }.total(counted.bytes()));
        let asked = after_a_look(&self.asked.request, self.job.key(), total)?;
        Ok(Self { lists: Arc::clone(&self.lists), ..Self::of(asked, self.job.key().clone())? })
    }

    /// A selection whose columns were checked, and whose rounds can run in pieces.
    ///
    /// # Errors
    /// As the local engine for parameters.
    fn of(asked: CalibratedSelect, key: ReleaseKey) -> Result<Self> {
        let spec = JobSpec::of_selection(&asked)?;
        Ok(Self { asked, job: ExchangeJob::new(spec, key), lists: Arc::default() })
    }

    /// The items that tasks leave out when they read the table. Public items stay if they are counted, or nodes of a tree.
    #[must_use]
    pub fn unread(&self) -> Packed {
        let public: HashSet<Digest> = self.public_if_read().into_iter().collect();
        Decisions::pack(self.lists.removed().filter(|item| !public.contains(item)).map(|item| (item, 0)))
            .into()
    }

    /// The public items that are read, which tasks take out before the rounds.
    #[must_use]
    pub fn read_public(&self) -> Packed {
        Decisions::pack(self.public_if_read().into_iter().map(|item| (item, 0))).into()
    }

    /// An excluded node is left out with those below it. So public ones, whose nodes below stay, are read.
    fn public_if_read(&self) -> Vec<Digest> {
        let is_read = self.asked.request.numbers().is_some() || self.job.is_tree();
        if is_read { self.lists.public_digests() } else { vec![] }
    }

    /// The job that all tasks share.
    #[must_use]
    pub fn job(&self) -> &ExchangeJob {
        &self.job
    }

    /// Whether names have to be looked up in the table. If not, [`Selection::publish`] needs none.
    ///
    /// # Errors
    /// As for the schema.
    pub fn looks_up(&self, schema: &Schema) -> Result<bool> {
        are_looked_up(&self.asked.request.columns, schema)
    }

    /// The released items and, where some stand above them, all of these. `named` has what naming tasks found of the former.
    ///
    /// # Errors
    /// As [`Selection::publish`].
    pub fn closed(&self, named: &[RecordBatch], released: &Packed, schema: &Schema) -> Result<Packed> {
        if !self.job.spec().closes() {
            return Ok(released.clone());
        }
        let digests: Vec<Digest> = Decisions::each(released.bytes())?.map(|(item, _)| item).collect();
        let schema = ingest::item_schema(schema, &self.asked.request.columns)?;
        // Every decision has its name, and every name its decision.
        in_order(&digests, put_together(named, &schema)?)?;
        let (nodes, _) = self.nodes_of(named, &schema)?;
        Ok(Decisions::pack(nodes.into_iter().map(|node| (node, 0))).into())
    }

    fn nodes_of(&self, named: &[RecordBatch], schema: &ItemSchema) -> Result<(Vec<Digest>, RecordBatch)> {
        nodes_of(named, (schema, &self.asked.request.columns), &self.lists, self.job.key())
    }

    /// Whether the users or rows of the released items are counted.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.asked.request.counts.is_some()
    }

    /// Whether the list is compared with all that users hold.
    #[must_use]
    pub fn has_rest(&self) -> bool {
        self.asked.request.rest.is_some()
    }

    /// The release: every decision needs its name, and every name its decision. Where some stand above others, the items are
    /// [closed](Selection::closed). `numbers` has the noisy numbers of users
    /// or rows of the items of both that have some, if they are counted, and `rest` what the stage
    /// [`ExchangeJob::count_rest`] sent.
    ///
    /// # Errors
    /// [`Error::Source`] if the table changed between two reads, so that items have no name or were not counted.
    pub fn publish(
        &self,
        named: &[RecordBatch],
        released: &Decisions,
        (numbers, rest): (Option<&Decisions>, Option<&Packed>),
        schema: &Schema,
    ) -> Result<Release> {
        let (digests, weights): (Vec<Digest>, Vec<i64>) = released.iter().unzip();
        let key = self.job.key();
        let schema = ingest::item_schema(schema, &self.asked.request.columns)?;
        let items = if self.job.spec().closes() {
            in_order(&digests, self.nodes_of(named, &schema)?)?
        } else {
            items_of(&digests, named, &schema, key)?
        };
        let numbers = numbers.map(|numbers| self.numbers_of(&digests, numbers)).transpose()?;
        let rest = rest.map(|packed| self.job.rest_of(packed.bytes())).transpose()?;
        task::publish(self.asked.clone(), &self.lists, (&items, &weights), (numbers, rest), key)
    }

    /// The number of each item, and then of the public ones.
    ///
    /// # Errors
    /// [`Error::Source`] if other items were counted: each has a user, unless the table changed. A filter of released
    /// items is exact on the first read only.
    fn numbers_of(&self, digests: &[Digest], numbers: &Decisions) -> Result<Vec<i64>> {
        let (public, noise) = (self.lists.public_digests(), self.asked.calibration.counts);
        let noise = noise.ok_or(Error::Internal("numbers do not fit the request"))?;
        let held = public.iter().filter(|item| numbers.contains(**item)).count();
        let known: Option<Vec<i64>> = digests.iter().map(|item| numbers.get(*item)).collect();
        let known = known.filter(|known| numbers.len() == known.len() + held).ok_or_else(changed)?;
        Ok([known, self.job.numbers_of(&public, numbers, &noise)?].concat())
    }
}
