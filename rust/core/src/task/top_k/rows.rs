//! A top-k from rows: its steps in order, on any engine.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, UInt32Array};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{self, Contributions, RowOrder, Totals};
use dpsel_rows::ingest::{Columns, DOMAIN, ListedTypes, OpenSource, Source, sorted};
use dpsel_rows::runtime::{Control, PHASES};

use super::draw::{check_size, draw};
use super::request::{COUNT_COLUMN, Domain, PublishedCounts, RANK_COLUMN, TopKRequest};
use crate::release::with_column;
use crate::task::calibration::{Calibrated, CalibratedTopK, Enforced};
use crate::task::engine::{AfterRounds, Engine, Found, Held, ItemFacts, Plan, ToCount};
use crate::task::job::JobSpec;
use crate::task::memory::{MemoryEngine, held_items, named};
use crate::task::report::{Release, Report};
use crate::task::select::{PublicLists, beside_rows};
use crate::top_k::{Counts, Place};

/// Reads the rows, counts the users of each item, and draws the answer.
///
/// With a public list other items do not count. The answer has the declared types of the rows, or, where these have
/// none, the types of the list.
///
/// # Errors
/// See [`dpsel_exact::Error`].
pub fn top_k_from_rows(
    source: Source,
    request: &TopKRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Release> {
    top_k_on(&MemoryEngine { key, control }, source, request, key)
}

/// The same on any engine.
///
/// # Errors
/// See [`dpsel_exact::Error`].
pub(crate) fn top_k_on(
    engine: &dyn Engine,
    source: Source,
    request: &TopKRequest,
    key: &ReleaseKey,
) -> Result<Release> {
    let control = engine.control();
    let asked = Calibrated::of(request.clone(), request.calibrate()?);
    let columns = columns_of_rows(request)?;
    let discovery = asked.calibration.discovery.as_ref();
    let most_rows = discovery.and_then(|found| found.counts).map(|noise| noise.limit().most_rows());
    control.plan(PHASES + discovery.map_or(0, |discovery| discovery.rounds.len()), 0);
    let again = engine.again(&source)?;
    let opened = OpenSource::open(source, columns, control)?;
    let list = request.listed.as_deref().map(|list| list.in_types_of(opened.layout(), columns, DOMAIN));
    let listed = list.transpose()?.map(|(list, types)| Ok((read_list(list, columns, key, control)?, types)));
    let steps = TopKOfRows::new(asked.clone(), listed.transpose()?)?;
    let plan = Plan {
        columns,
        order: &RowOrder::Any,
        lists: &PublicLists::default(),
        has_rounds: discovery.is_some(),
        after: match (discovery, most_rows) {
            (None, _) => AfterRounds::Nothing,
            (Some(_), None) => AfterRounds::Users,
            (Some(_), Some(most_rows)) => AfterRounds::NoisyNumbers(most_rows),
        },
        names: !steps.has_list(),
        parts: None,
        later: &|totals: Totals| {
            discovery.map_or(0, |found| beside_rows(found, most_rows, (totals, 0), control))
        },
    };
    let (counted, rest) = steps.counted(engine.read(opened, again, &plan)?)?;
    let drawn = steps.draw(counted, key)?;
    steps.publish(&drawn, |items| rest.names(items), key)
}

/// Read a public list, which is no part of the progress and of the rows that are counted.
fn read_list(list: Source, columns: &Columns, key: &ReleaseKey, control: &Control) -> Result<Contributions> {
    let apart = Control::new(control.threads().try_into().ok(), None);
    contributions::read(list, &columns.of_list(), None, key, &apart)
}

/// The columns of a request whose rows are counted, if its list fits it.
///
/// # Errors
/// [`Error::Incompatible`] for a domain that is only a number.
fn columns_of_rows(request: &TopKRequest) -> Result<&Columns> {
    let Some(columns) = &request.columns else { return Err(Error::Internal("no columns were named")) };
    if let Domain::Sized { .. } = request.domain {
        return Err(Error::Incompatible {
            what: "from rows, domain= cannot be a number".into(),
            fix: "list the public items; those found in rows are secret",
        });
    }
    Ok(columns)
}

/// The steps of a calibrated top-k.
#[derive(Debug)]
pub struct TopKOfRows {
    asked: CalibratedTopK,
    job: JobSpec,
    /// The items of a public list, and the types in which they come back.
    listed: Option<(Contributions, ListedTypes)>,
}

/// The drawn items in their order, and the noisy count of each if asked for.
#[derive(Debug)]
pub struct Draw {
    /// The items.
    pub items: Found,
    noisy: Vec<Option<i64>>,
}

impl TopKOfRows {
    /// # Errors
    /// [`Error::InvalidParameter`] for a list of fewer items than are asked for; [`Error::Internal`] for a list where
    /// none is asked for.
    pub fn new(asked: CalibratedTopK, listed: Option<(Contributions, ListedTypes)>) -> Result<Self> {
        let (request, columns) = (&asked.request, columns_of_rows(&asked.request)?.clone());
        // Without its list, a mechanism for public items would name those of the data.
        if listed.is_some() != (request.domain == Domain::Listed) {
            return Err(Error::Internal("a list of items does not fit the request"));
        }
        if let Some((listed, _)) = &listed {
            check_size(request, held_items(listed).len() as u64)?;
        }
        let bound = request.max_items_per_user;
        let job = match asked.calibration.discovery.clone() {
            Some(rounds) => JobSpec::of(columns, bound, rounds),
            None => JobSpec::counting(columns, bound),
        };
        Ok(Self { asked, job, listed })
    }

    /// The job of the rounds, or of the counts without rounds.
    #[must_use]
    pub fn job(&self) -> &JobSpec {
        &self.job
    }

    /// Whether the items are discovered first. All users of the discovered items are counted then, without a bound.
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        self.asked.calibration.discovery.is_some()
    }

    /// Whether the numbers of users of discovered items have noise before the draw sees them.
    #[must_use]
    pub fn has_noisy_numbers(&self) -> bool {
        self.job.calibration.counts.is_some()
    }

    /// Whether the items are those of a public list.
    #[must_use]
    pub fn has_list(&self) -> bool {
        self.listed.is_some()
    }

    /// The items of a public list.
    #[must_use]
    pub fn listed(&self) -> Option<Vec<Digest>> {
        let (listed, _) = self.listed.as_ref()?;
        let digests = listed.vocabulary.digests();
        Some(held_items(listed).into_iter().map(|item| digests.get(item)).collect())
    }

    /// The number of the largest counts that the draw uses; `None` for all of them.
    #[must_use]
    pub fn largest(&self) -> Option<u32> {
        self.asked.calibration.candidates.map(|candidates| candidates.saturating_add(1))
    }

    /// The items that can be picked, with their users: those that rounds discover, listed ones, or all.
    fn counted<'e>(&self, held: Box<dyn Held<'e> + 'e>) -> Result<(Found, Box<dyn ItemFacts + 'e>)> {
        if self.is_discovery() {
            let (released, rest) = held.released(&self.job)?;
            let numbers = match &self.job.calibration.counts {
                None => rest.users(&released)?,
                Some(noise) => rest.noisy_numbers(&released, noise)?,
            };
            return Ok((Found { numbers, ..released }, rest));
        }
        let listed = self.listed();
        let wanted = listed.as_deref().map_or(ToCount::All(self.largest()), ToCount::Listed);
        held.counted(&self.job, wanted)
    }

    /// Draw from the users of the items that somebody holds. Their order does not matter.
    ///
    /// # Errors
    /// As [`draw`].
    pub fn draw(&self, counted: Found, key: &ReleaseKey) -> Result<Draw> {
        let items = match &self.listed {
            None => counted,
            Some((listed, _)) => in_list(listed, &counted),
        };
        let counts = Counts { counts: &items.numbers, digests: Some(&items.digests), unseen: 0 };
        let picks = draw(counts, &self.asked, key)?;
        let places = picks.iter().filter_map(|pick| match pick.place {
            Place::Listed(place) => Some(place),
            Place::Unseen => None,
        });
        Ok(Draw { noisy: picks.iter().map(|pick| pick.noisy).collect(), items: items.at(places) })
    }

    /// The answer. `named` finds columns of items in their order, unless a list has them.
    ///
    /// # Errors
    /// Those of `named`.
    pub fn publish(
        &self,
        drawn: &Draw,
        names: impl FnOnce(&Found) -> Result<RecordBatch>,
        key: &ReleaseKey,
    ) -> Result<Release> {
        let items = match &self.listed {
            Some((listed, types)) => types.restore(named(listed.vocabulary.keys(), &drawn.items, key)?)?,
            None => names(&drawn.items)?,
        };
        let items = answer(items, drawn.noisy.clone(), &self.asked.request)?;
        Ok(Release { items, report: Report::new(Enforced::TopK(self.asked.clone()), key)? })
    }
}

/// The items of a public list by the codes of the list, with their users.
fn in_list(listed: &Contributions, counted: &Found) -> Found {
    let users = counted.digests.iter().copied().zip(counted.numbers.iter().copied());
    let users: HashMap<Digest, i64> = users.collect();
    let (known, codes) = (listed.vocabulary.digests(), held_items(listed));
    let digests: Vec<Digest> = codes.iter().map(|code| known.get(*code)).collect();
    // Otherwise: nobody has the listed item.
    let numbers = digests.iter().map(|item| users.get(item).copied().unwrap_or(0)).collect();
    Found { digests, codes, numbers }
}

/// The answer from fresh columns of the drawn items, in their order, and the noisy count of each.
///
/// An answer with an order has a column of ranks; another one is sorted by its own values (law 5).
///
/// # Errors
/// [`Error::Internal`] for columns that do not fit together.
fn answer(mut items: RecordBatch, mut noisy: Vec<Option<i64>>, request: &TopKRequest) -> Result<RecordBatch> {
    if request.mechanism.as_mechanism().is_ordered() {
        let last = u32::try_from(items.num_rows()).map_err(|_| Error::Internal("more ranks than 2^32"))?;
        let ranks = UInt32Array::from_iter_values(1..=last);
        items = with_column(&items, RANK_COLUMN, Arc::new(ranks))?;
    } else {
        let (in_order, order) = sorted(&items)?;
        items = in_order;
        noisy = order.iter().map(|i| noisy[*i as usize]).collect();
    }
    if request.counts != PublishedCounts::None {
        let counts = Int64Array::from_iter_values(noisy.into_iter().flatten());
        items = with_column(&items, COUNT_COLUMN, Arc::new(counts))?;
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, RecordBatchIterator};

    use super::*;
    use crate::task::Request;

    /// `Joint` would pick from the items that somebody holds, and name an item of one user.
    #[test]
    fn a_list_of_items_goes_with_a_request_for_one() {
        let given = |mechanism: &str, domain: &str| {
            let request = format!(
                r#"{{"task": "top_k", "columns": {{"user": "u", "items": ["i"]}}, "k": 1, {mechanism},
                     "privacy": {{"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6}}, "domain": {{"kind": "{domain}"}}}}"#
            );
            let request = Request::from_json(&request).unwrap().into_top_k().unwrap();
            let empty: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
            let rows = RecordBatch::try_from_iter([("u", Arc::clone(&empty)), ("i", empty)]).unwrap();
            let schema = rows.schema();
            let source = Source::Stream(Box::new(RecordBatchIterator::new([Ok(rows)], schema)));
            top_k_from_rows(source, &request, &ReleaseKey::insecure_test([1; 32]), &Control::default())
        };
        let misfit =
            |given: Result<Release>| matches!(given, Err(Error::Internal(text)) if text.contains("list"));
        assert!(misfit(given(r#""mechanism": {"name": "joint"}"#, "listed")));
        assert!(!misfit(given(r#""mechanism": {"name": "limit_domain"}"#, "unknown")));
    }
}
