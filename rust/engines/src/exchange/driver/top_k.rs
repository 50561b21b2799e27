//! A top-k, as the driver sees it: which items are counted, the draw, and the answer.
//!
//! The stages count users. The driver makes the draw of the local engine.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use dpsel_core::task::{Calibrated, Draw, Found, Release, TopKOfRows, TopKRequest};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions;
use dpsel_rows::ingest::{self, ListedTypes, PublicList};

use super::job::ExchangeJob;
use super::names::{are_looked_up, items_of};
use crate::exchange::rows::one_thread;
use crate::exchange::wire::{Decisions, Packed};

/// A top-k whose users are counted elsewhere.
#[derive(Debug)]
pub struct TopK {
    steps: TopKOfRows,
    job: ExchangeJob,
}

/// The drawn items, in their order, and noisy counts if asked for.
#[derive(Debug)]
pub struct Drawn(Draw);

impl TopK {
    /// Check everything that can be checked without rows, and calibrate. `domain` has a row for each item of a public
    /// list.
    ///
    /// # Errors
    /// As the local engine for parameters, schema and the list.
    pub fn new(
        request: TopKRequest,
        schema: &Schema,
        domain: Option<&PublicList>,
        key: ReleaseKey,
    ) -> Result<Self> {
        let calibration = request.calibrate()?;
        let asked = Calibrated::of(request, calibration);
        let Some(columns) = &asked.request.columns else {
            return Err(Error::Internal("no columns were named"));
        };
        ingest::check_schema(schema, columns, &[])?;
        let of_list = columns.of_list();
        let read = |domain: &PublicList| {
            let list = domain.beside(schema, columns)?;
            contributions::read(list, &of_list, None, &key, &one_thread())
        };
        // On a cluster all columns have declared types, which are those of the released items.
        let listed = domain.map(|domain| Ok((read(domain)?, ListedTypes::default()))).transpose()?;
        let steps = TopKOfRows::new(asked, listed)?;
        Ok(Self { job: ExchangeJob::new(steps.job().clone(), key), steps })
    }

    /// The job that all tasks share.
    #[must_use]
    pub fn job(&self) -> &ExchangeJob {
        &self.job
    }

    /// Whether the items are discovered first. All users of the discovered items are counted then, without a bound.
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        self.steps.is_discovery()
    }

    /// Whether their numbers of users have noise when they come to the driver.
    #[must_use]
    pub fn has_noisy_numbers(&self) -> bool {
        self.steps.has_noisy_numbers()
    }

    /// The items of a public list, packed; `None` without a list.
    #[must_use]
    pub fn listed(&self) -> Option<Packed> {
        let listed = self.steps.listed()?;
        Some(Decisions::pack(listed.into_iter().map(|item| (item, 0))).into())
    }

    /// The number of the largest counts that the draw uses; `None` for all of them.
    #[must_use]
    pub fn largest(&self) -> Option<u32> {
        self.steps.largest()
    }

    /// Draw from the counts.
    ///
    /// # Errors
    /// As the local engine.
    pub fn draw(&self, counted: &Decisions) -> Result<Drawn> {
        self.steps.draw(Found::by_digest(counted.iter()), self.job.key()).map(Drawn)
    }

    /// Whether names have to be looked up in the table. The names of a public list are known, and so are names that the
    /// digests tell.
    ///
    /// # Errors
    /// As for the schema.
    pub fn looks_up(&self, schema: &Schema) -> Result<bool> {
        Ok(!self.steps.has_list() && are_looked_up(&self.job.spec().columns, schema)?)
    }

    /// The answer. `named` holds the results of the naming tasks.
    ///
    /// # Errors
    /// [`Error::Source`] if the table changed between two reads, so that items have no name.
    pub fn publish(&self, named: &[RecordBatch], drawn: &Drawn, schema: &Schema) -> Result<Release> {
        let (schema, key) = (ingest::item_schema(schema, &self.job.spec().columns)?, self.job.key());
        self.steps.publish(&drawn.0, |items| items_of(&items.digests, named, &schema, key), key)
    }
}

impl Drawn {
    /// The items, packed.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        Decisions::pack(self.0.items.digests.iter().map(|item| (*item, 0)))
    }
}
