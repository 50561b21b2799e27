//! A top-k, as the driver sees it: which items are counted, the draw, and the answer.
//!
//! The stages count users. The driver makes the draw of the local engine.

use std::collections::HashMap;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::Schema;

use super::job::{ExchangeJob, JobSpec};
use super::named::{are_looked_up, changed, items_of};
use crate::contributions::{self, Contributions, ItemCode};
use crate::exchange::items::keep_largest;
use crate::exchange::rows::one_thread;
use crate::exchange::wire::{Decisions, Packed};
use crate::ingest::{self, Columns, ListedTypes, PublicList};
use crate::random::{Digest, ReleaseKey};
use crate::rounds::Calibration;
use crate::task::{
    Calibrated, CalibratedTopK, Domain, Enforced, Release, Report, TopKRequest, answer, check_size, draw,
    held_items,
};
use crate::top_k::{Counts, Pick, Place};
use crate::{Error, Result};

/// A top-k whose users are counted elsewhere.
#[derive(Debug)]
pub struct TopK {
    asked: CalibratedTopK,
    columns: Columns,
    job: ExchangeJob,
    key: ReleaseKey,
    /// The items of a public list, and the types in which they come back.
    listed: Option<(Contributions, ListedTypes)>,
}

/// The drawn items, in their order: digests, and noisy counts if asked for.
#[derive(Debug)]
pub struct Drawn(Vec<(Digest, Option<i64>)>);

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
        let asked = Calibrated { request, look: None, calibration };
        let Some(columns) = &asked.request.columns else {
            return Err(Error::Internal("no columns were named"));
        };
        ingest::check_schema(schema, columns, &[])?;
        let read = |domain: &PublicList| {
            contributions::read(
                domain.beside(schema, columns)?,
                &columns.of_list(),
                None,
                &key,
                &one_thread(),
            )
        };
        // On a cluster all columns have declared types, which are those of the released items.
        let listed = domain.map(|domain| Ok((read(domain)?, ListedTypes::default()))).transpose()?;
        Self::of(asked, listed, key)
    }

    /// A top-k whose columns were checked. `listed` are the items of a public list, and the types in which they come
    /// back.
    ///
    /// # Errors
    /// As [`TopK::new`] for the list.
    pub(crate) fn of(
        asked: CalibratedTopK,
        listed: Option<(Contributions, ListedTypes)>,
        key: ReleaseKey,
    ) -> Result<Self> {
        let request = &asked.request;
        let Some(columns) = request.columns.clone() else {
            return Err(Error::Internal("no columns were named"));
        };
        if listed.is_some() != (request.domain == Domain::Listed) {
            return Err(Error::Internal("a list of items does not fit the request"));
        }
        if let Some((listed, _)) = &listed {
            check_size(request, held_items(listed).len() as u64)?;
        }
        let rounds = asked.calibration.discovery.clone();
        let spec = JobSpec {
            columns: columns.clone(),
            bound: request.max_items_per_user,
            // Otherwise: the items are listed, and no rounds look for them.
            calibration: rounds.unwrap_or(Calibration::of(vec![])),
            with_weights: false,
            min_users: 1,
        };
        Ok(Self { job: ExchangeJob::new(spec, key.clone()), asked, columns, key, listed })
    }

    /// The job that all tasks share.
    #[must_use]
    pub fn job(&self) -> &ExchangeJob {
        &self.job
    }

    /// Whether the items are discovered first. All users of the discovered items are counted then, without a bound.
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        self.asked.calibration.discovery.is_some()
    }

    /// The items of a public list, packed; `None` without a list.
    #[must_use]
    pub fn listed(&self) -> Option<Packed> {
        let (listed, _) = self.listed.as_ref()?;
        let digests = listed.vocabulary.digests();
        Some(Decisions::pack(held_items(listed).iter().map(|item| (digests.get(*item), 0))).into())
    }

    /// The number of the largest counts that the draw uses; `None` for all of them.
    #[must_use]
    pub fn largest(&self) -> Option<u32> {
        self.asked.calibration.candidates.map(|candidates| candidates.saturating_add(1))
    }

    /// Draw from the counts.
    ///
    /// # Errors
    /// As [`draw`].
    pub fn draw(&self, counted: &Decisions) -> Result<Drawn> {
        let mut counts: Vec<(Digest, i64)> = match &self.listed {
            None => counted.iter().collect(),
            Some((listed, _)) => {
                let digests = listed.vocabulary.digests();
                let items = held_items(listed).into_iter().map(|item| digests.get(item));
                // Otherwise: nobody has the listed item.
                items.map(|item| (item, counted.get(item).unwrap_or(0))).collect()
            }
        };
        counts.sort_unstable();
        if let Some(most) = self.largest().and_then(|most| usize::try_from(most).ok()) {
            keep_largest(&mut counts, most);
        }
        let (digests, counts): (Vec<Digest>, Vec<i64>) = counts.into_iter().unzip();
        let given = Counts { counts: &counts, digests: Some(&digests), unseen: 0 };
        let picks = draw(given, &self.asked, &self.key)?.into_iter();
        let listed = picks.filter_map(|Pick { place, noisy }| match place {
            Place::Listed(position) => Some((digests[position], noisy)),
            Place::Unseen => None,
        });
        Ok(Drawn(listed.collect()))
    }

    /// Whether names have to be looked up in the table. The names of a public list are known, and so are names that the
    /// digests tell.
    ///
    /// # Errors
    /// As for the schema.
    pub fn looks_up(&self, schema: &Schema) -> Result<bool> {
        Ok(self.listed.is_none() && are_looked_up(&self.columns, schema)?)
    }

    /// The answer. `named` holds the results of the naming tasks.
    ///
    /// # Errors
    /// [`Error::Source`] if the table changed between two reads, so that items have no name.
    pub fn publish(&self, named: &[RecordBatch], drawn: &Drawn, schema: &Schema) -> Result<Release> {
        self.publish_with(drawn, |digests| {
            let schema = ingest::item_schema(schema, &self.columns)?;
            items_of(digests, named, &schema, &self.key)
        })
    }

    /// As [`TopK::publish`]. `named` finds digests and columns of these items, in any order, unless a list has them.
    ///
    /// # Errors
    /// As [`TopK::publish`]; those of `named`.
    pub(crate) fn publish_with(
        &self,
        drawn: &Drawn,
        named: impl FnOnce(Vec<Digest>) -> Result<(Vec<Digest>, RecordBatch)>,
    ) -> Result<Release> {
        let noisy = drawn.0.iter().map(|(_, noisy)| *noisy).collect();
        let items = match &self.listed {
            Some((listed, types)) => types.restore(self.listed_items(listed, drawn)?)?,
            None => in_their_order(drawn, named(drawn.0.iter().map(|(item, _)| *item).collect())?)?,
        };
        let items = answer(items, noisy, &self.asked.request)?;
        Ok(Release { items, report: Report::new(Enforced::TopK(self.asked.clone()), &self.key)? })
    }

    /// Fresh columns of the drawn items of a list, in their order.
    fn listed_items(
        &self,
        Contributions { vocabulary, .. }: &Contributions,
        drawn: &Drawn,
    ) -> Result<RecordBatch> {
        let digests = vocabulary.digests_from(0..vocabulary.code_bound());
        let codes: HashMap<Digest, ItemCode> =
            digests.into_iter().enumerate().map(|(at, item)| (item, ItemCode::from_index(at))).collect();
        let keys = drawn.0.iter().filter_map(|(item, _)| Some(vocabulary.key(*codes.get(item)?)));
        vocabulary.schema().decode(keys, &self.key)
    }
}

/// Put named items into the order of the draw.
fn in_their_order(drawn: &Drawn, (digests, items): (Vec<Digest>, RecordBatch)) -> Result<RecordBatch> {
    let rows: HashMap<Digest, u32> = digests.into_iter().zip(0..).collect();
    let order: Option<Vec<u32>> = drawn.0.iter().map(|(item, _)| rows.get(item).copied()).collect();
    let order = UInt32Array::from(order.ok_or_else(changed)?);
    arrow_select::take::take_record_batch(&items, &order)
        .map_err(|_| Error::Internal("the named items cannot be put in order"))
}

impl Drawn {
    /// The items, packed.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        Decisions::pack(self.0.iter().map(|(item, _)| (*item, 0)))
    }
}
