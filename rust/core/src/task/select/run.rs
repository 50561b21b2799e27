//! Partition selection: the stages in order.

use super::counts::BeforeSelection;
use super::lists::PublicLists;
use super::request::SelectRequest;
use crate::bounding::BoundedContributions;
use crate::contributions::{self, Contributions, RowOrder};
use crate::ingest::{OpenSource, Source};
use crate::look::{Quantile, noisy_users, users_by_size};
use crate::random::{Purpose, ReleaseKey};
use crate::release::{Numbers, publish};
use crate::rounds::{Selected, select_rounds};
use crate::runtime::{Control, PHASES};
use crate::task::calibrated::{CalibratedSelect, Enforced};
use crate::task::report::{Release, Report};
use crate::{Error, Result};

/// Reads the rows, runs the mechanism, and returns the release.
///
/// The result is a function of the set of rows, the request and the key alone (law 1).
///
/// # Errors
/// See [`crate::Error`].
pub fn select_partitions(
    source: Source,
    request: &SelectRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Release> {
    // Everything that a look may choose is calibrated before rows are read: no row decides whether there is an error.
    control.plan(PHASES, most_rounds(request)?);
    let opened = OpenSource::open(source, &request.columns, control)?;
    let lists = PublicLists::read(opened.layout(), request, key)?;
    let order = contributions::row_order(request.item_order()?, &request.columns, &opened, key)?;
    let contributions = contributions::read_in_order(opened, &request.read_order(&order), key, control)?;
    release_of((contributions, &order), &lists, request, key, control)
}

/// The release of rows that are in memory, as they were read: in [`SelectRequest::read_order`] of their order.
///
/// # Errors
/// See [`crate::Error`].
pub(crate) fn release_of(
    (mut contributions, order): (Contributions, &RowOrder),
    lists: &PublicLists,
    request: &SelectRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Release> {
    let before = match &request.counts {
        Some(asked) => Some(BeforeSelection::of(&contributions, asked, lists, control)?),
        None => None,
    };
    if request.counted_rows().is_some() {
        contributions.put_in_order(order);
    }
    lists.remove_from(&mut contributions);
    let calibrated = after_a_look(request, key, |sizes| Ok(users_by_size(&contributions, sizes)))?;
    let selected = selected(contributions, &calibrated, key, control)?;
    let numbers = match &before {
        Some(before) => before.numbers(&selected, &calibrated, key, control)?,
        None => None,
    };
    let (released, public) = numbers.map(|numbers| (numbers.released, numbers.public)).unzip();
    let numbers = Numbers::of(request.counts.as_ref(), released.as_deref());
    let items = publish(&selected, request.with_weights, numbers, key)?;
    let report = Report::new(Enforced::Select(calibrated), key)?;
    let items = lists.beside(items, public.as_deref(), key)?;
    Ok(Release { items, report })
}

/// What the rounds release of contributions that are in memory.
fn selected(
    contributions: Contributions,
    calibrated: &CalibratedSelect,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Selected> {
    let bounded = BoundedContributions::new(contributions, calibrated.kept_items()?, key, control)?;
    let request = &calibrated.request;
    let publication = (request.with_weights, request.lowered());
    select_rounds(bounded, &calibrated.calibration, publication, key, control)
}

/// The most rounds that the mechanism may have.
///
/// # Errors
/// As [`SelectRequest::calibrate`].
pub(crate) fn most_rounds(request: &SelectRequest) -> Result<usize> {
    let rounds = |request: &SelectRequest| Ok(request.calibrate_once()?.rounds.len());
    request.possible()?.iter().try_fold(rounds(request)?, |most, possible| Ok(most.max(rounds(possible)?)))
}

/// The classes of users of the look at the data that the request asks for: see [`users_by_size`].
pub(crate) fn sizes_of_a_look(request: &SelectRequest) -> Option<Vec<u32>> {
    let limits = || request.quantile.map(|_| Quantile::sizes(request.max_items_per_user));
    request.mechanism.choice().map(|choice| vec![choice.size]).or_else(limits)
}

/// The request with its rounds: those of the mechanism or the limit that a look at the data chooses, if it asks for one.
///
/// `count` counts the users of each class, see [`users_by_size`].
///
/// # Contract
/// No number of the data but those that [`noisy_users`] returns goes into the choice.
///
/// # Errors
/// As [`SelectRequest::calibrate`]; those of `count`.
pub(crate) fn after_a_look(
    request: &SelectRequest,
    key: &ReleaseKey,
    count: impl FnOnce(&[u32]) -> Result<Vec<u64>>,
) -> Result<CalibratedSelect> {
    let look = |(epsilon, purpose): (f64, Purpose), sizes: Vec<u32>| -> Result<Vec<i64>> {
        Ok(noisy_users(&count(&sizes)?, epsilon, key, purpose))
    };
    let noise = match (request.mechanism.choice(), &request.quantile) {
        (Some(choice), _) => Some((choice.parts(request.privacy)?.0, Purpose::Look)),
        (None, Some(quantile)) => Some((quantile.parts(request.privacy)?.0, Purpose::Limit)),
        (None, None) => None,
    };
    let users = noise.zip(sizes_of_a_look(request)).map(|(noise, sizes)| look(noise, sizes)).transpose()?;
    CalibratedSelect::after(request.clone(), users)?
        .ok_or(Error::Internal("a look is there if it is asked for"))
}
