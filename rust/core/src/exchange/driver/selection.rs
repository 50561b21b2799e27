//! A partition selection, as the driver sees it: checks before the first stage, and the release after the last one.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::job::{ExchangeJob, JobSpec};
use super::named::{are_looked_up, changed, items_of};
use super::possible::{Beyond, Possible};
use crate::exchange::rows::Lengths;
use crate::exchange::wire::{Decisions, Packed};
use crate::ingest;
use crate::random::{Digest, ReleaseKey};
use crate::release::{Beside, Numbers, publish_columns};
use crate::task::{
    Calibrated, CalibratedSelect, Enforced, PublicLists, Release, Report, SelectRequest, after_a_look,
    most_rounds, sizes_of_a_look,
};
use crate::{Error, Result};

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
        let before_a_look = Calibrated { request, look: None, calibration };
        Ok(Self { lists, ..Self::of(before_a_look, key)? })
    }

    /// Refuse a mechanism that cannot run in pieces.
    ///
    /// # Errors
    /// As [`Possible::checked`].
    pub fn check(request: &SelectRequest) -> Result<()> {
        Possible::checked(request, Beyond::Cluster).map(drop)
    }

    /// The most rounds that there may be, whatever a look chooses.
    ///
    /// # Errors
    /// As the local engine for parameters.
    pub fn most_rounds(&self) -> Result<usize> {
        most_rounds(&self.asked.request)
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
        let total = |sizes: &[u32]| Ok(Lengths::new(sizes.to_vec()).total(counted.bytes()));
        let asked = after_a_look(&self.asked.request, self.job.key(), total)?;
        Ok(Self { lists: Arc::clone(&self.lists), ..Self::of(asked, self.job.key().clone())? })
    }

    /// A selection whose columns were checked, and whose rounds can run in pieces.
    ///
    /// # Errors
    /// As the local engine for parameters.
    pub(crate) fn of(asked: CalibratedSelect, key: ReleaseKey) -> Result<Self> {
        let spec = JobSpec {
            columns: asked.request.columns.clone(),
            bound: Some(asked.kept_items()?),
            calibration: asked.calibration.clone(),
            with_weights: asked.request.with_weights,
            min_users: asked.request.min_users,
        };
        Ok(Self { asked, job: ExchangeJob::new(spec, key), lists: Arc::default() })
    }

    /// The items that tasks leave out when they read the table. Public items stay if they are counted.
    #[must_use]
    pub fn unread(&self) -> Packed {
        let public: HashSet<Digest> =
            if self.is_counted() { self.public() } else { vec![] }.into_iter().collect();
        Decisions::pack(self.lists.removed().filter(|item| !public.contains(item)).map(|item| (item, 0)))
            .into()
    }

    /// The public items that are counted, which tasks take out before the rounds.
    #[must_use]
    pub fn counted_public(&self) -> Packed {
        let counted = if self.is_counted() { self.public() } else { vec![] };
        Decisions::pack(counted.into_iter().map(|item| (item, 0))).into()
    }

    fn public(&self) -> Vec<Digest> {
        self.lists.public_digests()
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

    /// Whether the users or rows of the released items are counted.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.asked.request.counts.is_some()
    }

    /// The release: every decision needs its name, and every name its decision. `numbers` has the noisy numbers of users
    /// or rows of the items of both that have some, if they are counted.
    ///
    /// # Errors
    /// [`Error::Source`] if the table changed between two reads, so that items have no name or were not counted.
    pub fn publish(
        &self,
        named: &[RecordBatch],
        released: Decisions,
        numbers: Option<&Decisions>,
        schema: &Schema,
    ) -> Result<Release> {
        let public = self.public();
        let numbers = numbers.map(|found| self.job.numbers_of(&public, found.clone())).transpose()?;
        let numbers = numbers.as_ref();
        if numbers.is_some_and(|numbers| numbers.len() != released.len() + public.len()) {
            return Err(changed());
        }
        let schema = ingest::item_schema(schema, &self.asked.request.columns)?;
        let digests = released.iter().map(|(item, _)| item).collect();
        let (digests, items) = items_of(digests, named, &schema, self.job.key())?;
        let Release { items, report } = self.publish_items(&digests, &items, released, numbers)?;
        let of_public = self.published(&public, numbers)?;
        Ok(Release { items: self.lists.beside(items, of_public.as_deref(), self.job.key())?, report })
    }

    /// The release, given the items and their digests in one order, and the noisy numbers of users or rows if they are
    /// counted.
    ///
    /// # Errors
    /// [`Error::Source`] if an item has no decision or no number, or a decision no item.
    pub(crate) fn publish_items(
        &self,
        digests: &[Digest],
        items: &RecordBatch,
        mut released: Decisions,
        numbers: Option<&Decisions>,
    ) -> Result<Release> {
        let steps = digests.iter().map(|item| released.take(*item));
        let steps: Option<Vec<i64>> = steps.collect();
        // A filter of released items is exact on the first read only. An item that is new in the second read may pass.
        let Some(steps) = steps.filter(|_| released.is_empty()) else {
            return Err(changed());
        };
        let weights = self.asked.request.with_weights.then_some(steps.as_slice());
        let numbers = self.published(digests, numbers)?;
        let numbers = Numbers::of(self.asked.request.counts.as_ref(), numbers.as_deref());
        let items = publish_columns(items, Beside { weights, numbers })?;
        let report = Report::new(Enforced::Select(self.asked.clone()), self.job.key())?;
        Ok(Release { items, report })
    }

    /// The numbers of these items as they are published; `None` if nothing is counted.
    ///
    /// # Errors
    /// [`Error::Source`] if an item has no number: each has a user, unless the table changed.
    pub(crate) fn published(
        &self,
        digests: &[Digest],
        numbers: Option<&Decisions>,
    ) -> Result<Option<Vec<i64>>> {
        match (self.asked.request.counts, numbers) {
            (None, None) => Ok(None),
            (Some(counts), Some(numbers)) => {
                let known: Option<Vec<i64>> = digests.iter().map(|item| numbers.get(*item)).collect();
                Ok(Some(counts.published(known.ok_or_else(changed)?)))
            }
            (None, Some(_)) | (Some(_), None) => Err(Error::Internal("numbers do not fit the request")),
        }
    }
}
