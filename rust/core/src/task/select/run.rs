//! Partition selection: the stages in order.

use arrow_array::RecordBatch;

use super::counts::BeforeSelection;
use super::lists::PublicLists;
use super::request::SelectRequest;
use crate::bounding::BoundedContributions;
use crate::contributions::Contributions;
use crate::ingest::Source;
use crate::look::users_by_size;
use crate::mechanisms::{ByLength, Lists, MechanismSpec};
use crate::random::ReleaseKey;
use crate::release::{publish, with_public};
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
    let (mut contributions, lists) = PublicLists::read(source, request, key, control)?;
    let before = match request.counts {
        Some(_) => Some(BeforeSelection::of(&contributions, &lists, control)?),
        None => None,
    };
    lists.remove_from(&mut contributions)?;
    let calibrated = after_a_look(request, &contributions, key)?;
    let selected = selected(contributions, &calibrated, key, control)?;
    let users = match &before {
        Some(before) => before.users(&selected, &calibrated, key, control)?,
        None => None,
    };
    let (released, public) = users.map(|users| (users.released, users.public)).unzip();
    let items = publish(&selected, request.with_weights, released.as_deref(), key)?;
    let report = Report::new(Enforced::Select(calibrated), key)?;
    let items = match lists.public(public.as_deref(), key)? {
        Some(public) => with_public(&items, &public)?,
        None => items,
    };
    Ok(Release { items, report })
}

/// The released items of contributions that are in memory, without counts.
///
/// # Errors
/// See [`crate::Error`].
pub(crate) fn selected_items(
    contributions: Contributions,
    calibrated: &CalibratedSelect,
    key: &ReleaseKey,
    control: &Control,
) -> Result<RecordBatch> {
    let selected = selected(contributions, calibrated, key, control)?;
    publish(&selected, calibrated.request.with_weights, None, key)
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
fn most_rounds(request: &SelectRequest) -> Result<usize> {
    let usual = request.calibrate_once()?.rounds.len();
    let Some(choice) = request.mechanism.choice() else { return Ok(usual) };
    Ok(usual.max(request.chosen(choice, Lists::Short)?.calibrate_once()?.rounds.len()))
}

/// The request with its rounds: those of the mechanism that a look at the data chooses, if it asks for one.
///
/// # Contract
/// No number of the data but those that [`users_by_size`] returns goes into the choice.
///
/// # Errors
/// As [`SelectRequest::calibrate`].
fn after_a_look(
    request: &SelectRequest,
    contributions: &Contributions,
    key: &ReleaseKey,
) -> Result<CalibratedSelect> {
    let look = |choice: &ByLength<MechanismSpec>| {
        let (epsilon, _) = choice.parts(request.privacy)?;
        let users = users_by_size(contributions, &[choice.size], epsilon, key);
        <[i64; 2]>::try_from(users).map_err(|_| Error::Internal("a look has two numbers"))
    };
    let users = request.mechanism.choice().map(look).transpose()?;
    CalibratedSelect::after(request.clone(), users)?
        .ok_or(Error::Internal("a look is there if it is asked for"))
}
