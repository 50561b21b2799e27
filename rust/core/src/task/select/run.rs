//! Partition selection: the stages in order.

use super::lists::Lists;
use super::request::SelectRequest;
use crate::Result;
use crate::bounding::BoundedContributions;
use crate::ingest::Source;
use crate::random::ReleaseKey;
use crate::release::{publish, with_public};
use crate::rounds::select_rounds;
use crate::runtime::{Control, PHASES};
use crate::task::calibrated::{Calibrated, Enforced};
use crate::task::report::{Release, Report};

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
    let calibration = request.calibrate_once()?;
    let calibrated = Calibrated { request: request.clone(), calibration: calibration.clone() };
    let report = Report::new(Enforced::Select(calibrated), key)?;
    control.plan(PHASES + calibration.rounds.len());
    let (contributions, lists) = Lists::read(source, request, key, control)?;
    let mut bounded = BoundedContributions::new(contributions, request.kept_items()?, key, control)?;
    lists.remove_from(&mut bounded, control)?;
    let publication = (request.with_weights, request.lowered());
    let selected = select_rounds(bounded, &calibration, publication, key, control)?;
    let items = publish(&selected, request.with_weights)?;
    let items = match lists.public()? {
        Some(public) => with_public(&items, &public)?,
        None => items,
    };
    Ok(Release { items, report })
}
