//! A partition selection, as the driver sees it: checks before the first stage, and the release after the last one.

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::job::{ExchangeJob, JobSpec};
use super::named::{are_looked_up, changed, items_of};
use crate::exchange::wire::Decisions;
use crate::ingest;
use crate::random::{Digest, ReleaseKey};
use crate::release::{Beside, Numbers, publish_columns};
use crate::rounds::{Calibration, Round};
use crate::task::{Calibrated, CalibratedSelect, Enforced, Release, Report, SelectRequest};
use crate::{Error, Result};

/// A partition selection whose stages run elsewhere.
#[derive(Debug)]
pub struct Selection {
    asked: CalibratedSelect,
    job: ExchangeJob,
}

impl Selection {
    /// Check everything that can be checked without rows, and calibrate.
    ///
    /// # Errors
    /// As the local engine for parameters and schema. [`Error::Incompatible`] for a mechanism whose users have to be
    /// weighed one after the other.
    pub fn new(request: SelectRequest, schema: &Schema, key: ReleaseKey) -> Result<Self> {
        let calibration = Self::calibrate(&request)?;
        ingest::check_schema(schema, &request.columns, &[])?;
        Self::of(Calibrated { request, look: None, calibration }, key)
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
        Ok(Self { asked, job: ExchangeJob::new(spec, key) })
    }

    /// Check the parameters alone, and calibrate.
    ///
    /// # Errors
    /// As [`Selection::new`], except for the schema.
    pub fn calibrate(request: &SelectRequest) -> Result<Calibration> {
        let calibration = request.calibrate_once()?;
        let listed = request.exclude.is_some() || request.public_items.is_some();
        if listed || request.min_users > 1 {
            return Err(Error::Incompatible {
                what: "exclude=, public_items= and min_users= are not there on a cluster".into(),
                fix: "filter the DataFrame before the call, or call dpsel.select_partitions on one machine",
            });
        }
        if request.quantile.is_some() {
            return Err(Error::Incompatible {
                what: "max_items_per_user=Quantile(...) is not there on a cluster".into(),
                fix: "give max_items_per_user as a number, or call dpsel.select_partitions on one machine",
            });
        }
        if request.mechanism.choice().is_some() || !runs_in_pieces(&calibration) {
            return Err(Error::Incompatible {
                what: "the mechanism cannot be run on a cluster".into(),
                fix: "use CountLaplace, CountGaussian, WeightedLaplace, WeightedGaussian, Sips, Steered or OneItem, or \
                      call dpsel.select_partitions on one machine",
            });
        }
        Ok(calibration)
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
    /// or rows if they are counted.
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
        if numbers.is_some_and(|numbers| numbers.len() != released.len()) {
            return Err(changed());
        }
        let schema = ingest::item_schema(schema, &self.asked.request.columns)?;
        let digests = released.iter().map(|(item, _)| item).collect();
        let (digests, items) = items_of(digests, named, &schema, self.job.key())?;
        self.publish_items(&digests, &items, released, numbers)
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

/// Whether the rounds can run in pieces.
pub(crate) fn runs_in_pieces(calibration: &Calibration) -> bool {
    calibration.rounds.iter().all(in_pieces)
}

/// Whether the weights of parts of the users add up to the weights of all users, and items are decided one by one.
fn in_pieces(round: &Round) -> bool {
    round.weighting.adds_up() && round.rule.is_item_by_item()
}
