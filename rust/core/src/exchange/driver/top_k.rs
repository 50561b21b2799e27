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
use crate::ingest::{self, Columns, PublicList};
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
    listed: Option<Contributions>,
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
        let request = &asked.request;
        let Some(columns) = request.columns.clone() else {
            return Err(Error::Internal("no columns were named"));
        };
        if domain.is_some() != (request.domain == Domain::Listed) {
            return Err(Error::Internal("a list of items does not fit the request"));
        }
        ingest::check_schema(schema, &columns)?;
        let read = |domain: &PublicList| {
            contributions::read(domain.beside(schema, &columns)?, &columns, None, &key, &one_thread())
        };
        let listed = domain.map(read).transpose()?;
        if let Some(listed) = &listed {
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
        let listed = self.listed.as_ref()?;
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
            Some(listed) => {
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
        let noisy = drawn.0.iter().map(|(_, noisy)| *noisy).collect();
        let items = answer(self.items(named, drawn, schema)?, noisy, &self.asked.request)?;
        Ok(Release { items, report: Report::new(Enforced::TopK(self.asked.clone()), &self.key)? })
    }

    /// Fresh columns of the drawn items, in their order.
    fn items(&self, named: &[RecordBatch], drawn: &Drawn, schema: &Schema) -> Result<RecordBatch> {
        let wanted = drawn.0.iter().map(|(item, _)| *item);
        if let Some(Contributions { vocabulary, .. }) = &self.listed {
            let digests = vocabulary.digests_from(0..vocabulary.code_bound());
            let codes: HashMap<Digest, ItemCode> =
                digests.into_iter().enumerate().map(|(at, item)| (item, ItemCode::from_index(at))).collect();
            let keys = wanted.filter_map(|item| Some(vocabulary.key(*codes.get(&item)?)));
            return vocabulary.schema().decode(keys, &self.key);
        }
        let schema = ingest::item_schema(schema, &self.columns)?;
        let (digests, items) = items_of(wanted.clone().collect(), named, &schema, &self.key)?;
        let rows: HashMap<Digest, u32> = digests.into_iter().zip(0..).collect();
        let order: Option<Vec<u32>> = wanted.map(|item| rows.get(&item).copied()).collect();
        let order = UInt32Array::from(order.ok_or_else(changed)?);
        arrow_select::take::take_record_batch(&items, &order)
            .map_err(|_| Error::Internal("the named items cannot be put in order"))
    }
}

impl Drawn {
    /// The items, packed.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        Decisions::pack(self.0.iter().map(|(item, _)| (*item, 0)))
    }
}
