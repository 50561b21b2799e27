//! Partition selection: the stages in order.

use arrow_array::RecordBatch;

use super::request::SelectRequest;
use crate::Result;
use crate::bounding::BoundedContributions;
use crate::contributions::{self, Contributions};
use crate::ingest::Source;
use crate::random::ReleaseKey;
use crate::release::publish;
use crate::rounds::{Calibration, select_rounds};
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
    let contributions = contributions::read(source, &request.columns, request.item_order()?, key, control)?;
    Ok(Release { items: selected_items(contributions, request, &calibration, key, control)?, report })
}

/// The released items of contributions that are in memory.
///
/// # Errors
/// See [`crate::Error`].
pub(crate) fn selected_items(
    contributions: Contributions,
    request: &SelectRequest,
    calibration: &Calibration,
    key: &ReleaseKey,
    control: &Control,
) -> Result<RecordBatch> {
    let bounded = BoundedContributions::new(contributions, request.kept_items()?, key, control)?;
    let selected = select_rounds(bounded, calibration, request.with_weights, key, control)?;
    publish(&selected, request.with_weights)
}
