//! Partition selection: the stages in order.

use super::counts::BeforeSelection;
use super::lists::PublicLists;
use super::request::SelectRequest;
use crate::bounding::BoundedContributions;
use crate::contributions::{self, Contributions};
use crate::ingest::{OpenSource, Source};
use crate::look::{noisy_users, users_by_size};
use crate::mechanisms::{ByLength, Lists, MechanismSpec};
use crate::random::ReleaseKey;
use crate::release::publish;
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
    control.plan(PHASES + most_rounds(request)?);
    let opened = OpenSource::open(source, &request.columns, control)?;
    let lists = PublicLists::read(&opened, request, key)?;
    let contributions =
        contributions::read_opened(opened, &request.columns, request.item_order()?, key, control)?;
    release_of(contributions, &lists, request, key, control)
}

/// The release of rows that are in memory, as they were read.
///
/// # Errors
/// See [`crate::Error`].
pub(crate) fn release_of(
    mut contributions: Contributions,
    lists: &PublicLists,
    request: &SelectRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Release> {
    let before = match request.counts {
        Some(_) => Some(BeforeSelection::of(&contributions, lists, control)?),
        None => None,
    };
    lists.remove_from(&mut contributions);
    let calibrated = after_a_look(request, key, |sizes| Ok(users_by_size(&contributions, sizes)))?;
    let selected = selected(contributions, &calibrated, key, control)?;
    let users = match &before {
        Some(before) => before.users(&selected, &calibrated, key, control)?,
        None => None,
    };
    let (released, public) = users.map(|users| (users.released, users.public)).unzip();
    let items = publish(&selected, request.with_weights, released.as_deref(), key)?;
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
    let usual = request.calibrate_once()?.rounds.len();
    let Some(choice) = request.mechanism.choice() else { return Ok(usual) };
    Ok(usual.max(request.chosen(choice, Lists::Short)?.calibrate_once()?.rounds.len()))
}

/// The request with its rounds: those of the mechanism that a look at the data chooses, if it asks for one.
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
    let look = |choice: &ByLength<MechanismSpec>| {
        let (epsilon, _) = choice.parts(request.privacy)?;
        let users = noisy_users(&count(&[choice.size])?, epsilon, key);
        <[i64; 2]>::try_from(users).map_err(|_| Error::Internal("a look has two numbers"))
    };
    let users = request.mechanism.choice().map(look).transpose()?;
    CalibratedSelect::after(request.clone(), users)?
        .ok_or(Error::Internal("a look is there if it is asked for"))
}
