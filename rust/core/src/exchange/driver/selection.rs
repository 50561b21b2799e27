//! A partition selection, as the driver sees it: checks before the first stage, and the release after the last one.

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::job::ExchangeJob;
use super::named::{are_looked_up, changed, items_of};
use crate::exchange::wire::Decisions;
use crate::ingest;
use crate::random::{Digest, ReleaseKey};
use crate::rounds::{Calibration, Round};
use crate::task::{self, Calibrated, CalibratedSelect, JobSpec, PublicLists, Release, SelectRequest};
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
        let asked = Calibrated { request, look: None, calibration };
        let job = ExchangeJob::new(JobSpec::of_selection(&asked)?, key);
        Ok(Self { asked, job })
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
        released: &Decisions,
        numbers: Option<&Decisions>,
        schema: &Schema,
    ) -> Result<Release> {
        let (digests, weights): (Vec<Digest>, Vec<i64>) = released.iter().unzip();
        let key = self.job.key();
        let schema = ingest::item_schema(schema, &self.asked.request.columns)?;
        let items = items_of(&digests, named, &schema, key)?;
        let numbers = numbers.map(|numbers| numbers_of(&digests, numbers)).transpose()?;
        task::publish(self.asked.clone(), &PublicLists::default(), (&items, &weights), numbers, key)
    }
}

/// The number of each item.
///
/// # Errors
/// [`Error::Source`] if other items were counted: each has a user, unless the table changed. A filter of released items
/// is exact on the first read only.
fn numbers_of(digests: &[Digest], numbers: &Decisions) -> Result<Vec<i64>> {
    let known: Option<Vec<i64>> = digests.iter().map(|item| numbers.get(*item)).collect();
    known.filter(|known| numbers.len() == known.len()).ok_or_else(changed)
}

/// Whether the rounds can run in pieces.
pub(crate) fn runs_in_pieces(calibration: &Calibration) -> bool {
    calibration.rounds.iter().all(in_pieces)
}

/// Whether the weights of parts of the users add up to the weights of all users, and items are decided one by one.
fn in_pieces(round: &Round) -> bool {
    round.weighting.adds_up() && round.rule.is_item_by_item()
}
