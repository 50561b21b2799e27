//! Partition selection: its steps in order, on any engine.

use arrow_array::RecordBatch;
use dpsel_exact::random::{Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions;
use dpsel_rows::ingest::{OpenSource, Source};
use dpsel_rows::runtime::{Control, PHASES};

use super::choices::Possible;
use super::lists::PublicLists;
use super::request::SelectRequest;
use crate::counting::RestSums;
use crate::look::{Quantile, noisy_users};
use crate::release::{Beside, Numbers, publish_columns};
use crate::task::calibration::{CalibratedSelect, Enforced};
use crate::task::engine::{AfterRounds, Engine, Held, Plan};
use crate::task::job::JobSpec;
use crate::task::memory::MemoryEngine;
use crate::task::report::{Release, Report};

/// Reads the rows, runs the mechanism, and returns the release.
///
/// The result is a function of the set of rows, the request and the key alone (law 1).
///
/// # Errors
/// See [`dpsel_exact::Error`].
pub fn select_partitions(
    source: Source,
    request: &SelectRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Release> {
    select_on(&MemoryEngine { key, control }, source, request, key)
}

/// The same on any engine.
///
/// # Errors
/// See [`dpsel_exact::Error`].
pub(crate) fn select_on(
    engine: &dyn Engine,
    source: Source,
    request: &SelectRequest,
    key: &ReleaseKey,
) -> Result<Release> {
    // Everything that a look may choose is calibrated before rows are read: no row decides whether there is an error.
    let (control, possible) = (engine.control(), Possible::of(request)?);
    // A look that bounds and weighs has two phases more.
    let phases = if request.mechanism.choice().is_some() { PHASES + 2 } else { PHASES };
    control.plan(phases, possible.most_rounds());
    let again = engine.again(&source)?;
    let opened = OpenSource::open(source, &request.columns, control)?;
    let lists = PublicLists::read(opened.layout(), request, key)?;
    let order = contributions::row_order(request.item_order()?, &request.columns, &opened, key)?;
    let plan = Plan {
        columns: &request.columns,
        order: &order,
        lists: &lists,
        has_rounds: true,
        after: request
            .numbers()
            .map_or(AfterRounds::Nothing, |asked| AfterRounds::NoisyNumbers(asked.most_rows())),
        names: true,
        parts: possible.parts(),
        later: &possible.bytes_beside_rows(lists.public_digests().len(), control),
    };
    let held = engine.read(opened, again, &plan)?;
    let (asked, held) = looked(held, request, key)?;
    let (released, facts) = held.released(&JobSpec::of_selection(&asked)?)?;
    let noise = asked.calibration.numbers();
    let numbers = noise.counts.map(|noise| facts.noisy_numbers(&released, &noise)).transpose()?;
    let rest = noise.rest.map(|noise| facts.rest(&released, &noise)).transpose()?;
    let items = facts.names(&released)?;
    publish(asked, &lists, (&items, &released.numbers), (numbers, rest), key)
}

/// The release of items with their noisy weights, given the noisy numbers of users or rows of these items and then of
/// the public ones, and the sums of what the list covers, if they are asked for.
///
/// # Errors
/// As [`PublicLists::beside`]; [`Error::Internal`] for what does not fit together.
pub fn publish(
    asked: CalibratedSelect,
    lists: &PublicLists,
    (items, weights): (&RecordBatch, &[i64]),
    (numbers, rest): (Option<Vec<i64>>, Option<RestSums>),
    key: &ReleaseKey,
) -> Result<Release> {
    let asked = asked.with_rest(rest, key)?;
    let counts = asked.request.counts.as_ref();
    let mut numbers = match (counts, numbers) {
        (None, None) => None,
        (Some(counts), Some(numbers)) => Some(counts.published(numbers)),
        (None, Some(_)) | (Some(_), None) => {
            return Err(Error::Internal("numbers do not fit the request"));
        }
    };
    let of_public = numbers.as_mut().map(|numbers| numbers.split_off(weights.len()));
    let weights = asked.request.with_weights.then_some(weights);
    let items = publish_columns(items, Beside { weights, numbers: Numbers::of(counts, numbers.as_deref()) })?;
    let items = lists.beside(items, of_public.as_deref(), key)?;
    Ok(Release { items, report: Report::new(Enforced::Select(asked), key)? })
}

impl JobSpec {
    /// The rounds of a selection.
    ///
    /// # Errors
    /// As [`SelectRequest::item_bound`].
    pub fn of_selection(asked: &CalibratedSelect) -> Result<Self> {
        let request = &asked.request;
        let rounds = Self::of(request.columns.clone(), Some(asked.item_bound()?), asked.calibration.clone());
        Ok(Self { with_weights: request.with_weights, min_users: request.min_users, ..rounds })
    }
}

/// The request with its rounds after its look at the rows, if it asks for one, and the rows again.
fn looked<'e>(
    held: Box<dyn Held<'e> + 'e>,
    request: &SelectRequest,
    key: &ReleaseKey,
) -> Result<(CalibratedSelect, Box<dyn Held<'e> + 'e>)> {
    let Some(choice) = request.mechanism.choice() else {
        return Ok((after_a_look(request, key, |sizes| held.users_by_size(sizes))?, held));
    };
    let sight = choice.sight(request.privacy)?;
    let (found, held) = held.filled_slots(sight.seen, request.slots_of_a_look(choice)?)?;
    let asked = CalibratedSelect::after(request.clone(), Some(vec![sight.noisy_score(found, key)]))?;
    Ok((asked.ok_or(Error::Internal("a look is there if it is asked for"))?, held))
}

/// The classes of users from which the limit follows, if the request asks for that: see [`users_by_size`].
#[must_use]
pub fn sizes_of_a_look(request: &SelectRequest) -> Option<Vec<u32>> {
    request.quantile.map(|_| Quantile::sizes(request.max_items_per_user))
}

/// The request with its rounds: those of the limit that a look at the data finds, if it asks for one.
///
/// `count` counts the users of each class, see [`users_by_size`].
///
/// # Contract
/// No number of the data but those that [`noisy_users`] returns goes into the choice.
///
/// # Errors
/// As [`SelectRequest::calibrate`]; those of `count`.
pub fn after_a_look(
    request: &SelectRequest,
    key: &ReleaseKey,
    count: impl FnOnce(&[u32]) -> Result<Vec<u64>>,
) -> Result<CalibratedSelect> {
    let look = |quantile: &Quantile| -> Result<Vec<i64>> {
        let (epsilon, _) = quantile.parts(request.privacy)?;
        let users = count(&Quantile::sizes(request.max_items_per_user))?;
        Ok(noisy_users(&users, epsilon, key, Purpose::Limit))
    };
    let users = request.quantile.as_ref().map(look).transpose()?;
    CalibratedSelect::after(request.clone(), users)?
        .ok_or(Error::Internal("a look is there if it is asked for"))
}
