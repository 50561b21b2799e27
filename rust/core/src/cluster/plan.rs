//! What all tasks of one release share: request, calibration and key.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, Schema};

use super::decide::{Decide, Decisions};
use super::encode::Encode;
use super::name::{DIGEST, Name};
use super::routing::Routes;
use super::weigh::Weigh;
use crate::contributions::{Contributions, ContributionsBuilder, KeyLayout};
use crate::control::Control;
use crate::ingest::{self, ItemSchema, Preference, Source};
use crate::mechanisms::{Calibration, Round};
use crate::random::{Digest, Purpose, ReleaseKey, Words};
use crate::release::{Release, Report};
use crate::request::{Columns, Request};
use crate::threshold::Rule;
use crate::weighting::Weighting;
use crate::{Error, Result};

/// One release, ready to be done in pieces. Cloning it does not copy much.
#[derive(Debug, Clone)]
pub struct Plan {
    request: Arc<Request>,
    calibration: Arc<Calibration>,
    key: ReleaseKey,
}

impl Plan {
    /// Check everything that can be checked without rows, and calibrate.
    ///
    /// # Errors
    /// As the local engine's for parameters and schema; [`Error::Incompatible`] for a mechanism whose users have to come
    /// one after the other.
    pub fn new(request: Request, schema: &Schema, key: ReleaseKey) -> Result<Self> {
        let calibration = Self::calibrate(&request)?;
        ingest::check_schema(schema, &request.columns)?;
        Ok(Self::from_parts(request, calibration, key))
    }

    /// Check the parameters alone, and calibrate.
    ///
    /// # Errors
    /// As [`Plan::new`], but for the schema.
    pub fn calibrate(request: &Request) -> Result<Calibration> {
        let calibration = request.calibrate_once()?;
        if !calibration.rounds.iter().all(in_pieces) {
            return Err(Error::Incompatible {
                what: "the mechanism cannot be run on a cluster".into(),
                fix: "use CountLaplace, CountGaussian, WeightedLaplace, WeightedGaussian, Sips or OneItem, or \
                      call dpsel.select_partitions on one machine",
            });
        }
        Ok(calibration)
    }

    /// The same plan on another machine.
    #[must_use]
    pub fn from_parts(request: Request, calibration: Calibration, key: ReleaseKey) -> Self {
        Self { request: request.into(), calibration: calibration.into(), key }
    }

    /// What was asked for.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The rounds.
    #[must_use]
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// The release key.
    #[must_use]
    pub fn key(&self) -> &ReleaseKey {
        &self.key
    }

    /// The stage that reads the table.
    ///
    /// # Errors
    /// A number of routes out of range.
    pub fn encode(&self, routes: u32) -> Result<Encode> {
        Ok(Encode::new(self.clone(), Routes::new(routes)?))
    }

    /// The stage that weighs a round, counted from 0, without the items released before.
    ///
    /// # Errors
    /// A number of routes out of range; a round that there is not.
    pub fn weigh(&self, routes: u32, round: u32, released: Decisions) -> Result<Weigh> {
        Ok(Weigh::new(self.clone(), Routes::new(routes)?, self.round(round)?.clone(), released))
    }

    /// The stage that decides a round, counted from 0.
    ///
    /// # Errors
    /// A round that there is not; a rule that cannot be made ready.
    pub fn decide(&self, round: u32) -> Result<Decide> {
        let rule = self.round(round)?.rule.decider()?;
        Ok(Decide::new(rule, Words::new(&self.key, Purpose::Noise, round), self.request.with_weights))
    }

    /// The stage that looks up names.
    #[must_use]
    pub fn name(&self, released: Decisions) -> Name {
        Name::new(self.clone(), released)
    }

    fn round(&self, round: u32) -> Result<&Round> {
        const NONE: Error = Error::Internal("there is no such round");
        self.calibration.rounds.get(round as usize).ok_or(NONE)
    }

    /// The release: every decision needs its name, and every name its decision.
    ///
    /// # Errors
    /// [`Error::Source`] if the table changed between two reads, so that items have no name.
    pub fn publish(
        &self,
        named: &[RecordBatch],
        mut released: Decisions,
        schema: &Schema,
    ) -> Result<Release> {
        let report = Report::new((*self.request).clone(), (*self.calibration).clone(), &self.key);
        let mut units = Vec::with_capacity(released.len());
        let mut items = Vec::with_capacity(named.len() + 1);
        items
            .push(RecordBatch::new_empty(ingest::item_schema(schema, &self.request.columns)?.arrow_schema()));
        for batch in named {
            for digest in digests(batch)? {
                units.push(released.take(digest).ok_or(CHANGED)?);
            }
            let columns = batch.columns()[1..].to_vec();
            items.push(RecordBatch::try_new(items[0].schema(), columns).map_err(|_| NAMES)?);
        }
        if !released.is_empty() {
            return Err(changed());
        }
        let items = arrow_select::concat::concat_batches(&items[0].schema(), &items).map_err(|_| NAMES)?;
        Release::sorted(&items, &units, report)
    }
}

const NAMES: Error = Error::Internal("the named items have other columns than the table");
/// A name that nothing was decided for: stages and data do not belong together.
const CHANGED: Error = Error::Internal("an item was named that was not released");

fn changed() -> Error {
    Error::Source(
        "released items are missing from the second read of the table, so its rows changed between the two; \
         write the table out first, and select from what was written"
            .into(),
    )
}

fn digests(named: &RecordBatch) -> Result<Vec<Digest>> {
    let column =
        named.column_by_name(DIGEST).and_then(|column| column.as_binary_opt::<i32>()).ok_or(NAMES)?;
    let digest = |bytes: Option<&[u8]>| Some(Digest(u128::from_le_bytes(bytes?.try_into().ok()?)));
    column.iter().map(digest).collect::<Option<_>>().ok_or(NAMES)
}

/// Whether weights of parts of the users add up to those of all, and items are decided one by one.
fn in_pieces(round: &Round) -> bool {
    matches!(round.weighting, Weighting::Count | Weighting::EqualL1 | Weighting::EqualL2)
        && matches!(round.rule, Rule::Noisy(_) | Rule::Curve(_))
}

/// Tasks run side by side already.
pub(super) fn control() -> Control {
    Control::new(Some(NonZeroUsize::MIN), None)
}

/// Read batches as the local engine does; `None` if there are none.
pub(super) fn read(
    batches: Vec<RecordBatch>,
    columns: &Columns,
    key: &ReleaseKey,
) -> Result<Option<Contributions>> {
    let Some(first) = batches.first() else {
        return Ok(None);
    };
    let schema = first.schema();
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    ingest::read(Source::Stream(Box::new(reader)), columns, Preference::Any, key, &control()).map(Some)
}

/// A builder of contributions whose items have digests only.
pub(super) fn nameless_builder() -> ContributionsBuilder {
    ContributionsBuilder::new(KeyLayout::Words, &control())
}

/// The schema that goes with it.
pub(super) fn no_names() -> Result<ItemSchema> {
    ItemSchema::new([("item", &DataType::Null)])
}
