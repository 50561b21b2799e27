//! The stages in order.

use crate::Result;
use crate::bounding::BoundedContributions;
use crate::control::{Control, PHASES};
use crate::ingest::{self, Preference, Source};
use crate::random::ReleaseKey;
use crate::release::{Release, Report};
use crate::request::Request;
use crate::threshold::select_rounds;

/// How many items have how many users, as (users, items) in ascending order: exact, hence for public data only.
///
/// # Errors
/// See [`crate::Error`].
pub fn users_per_item(
    source: Source,
    request: &Request,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Vec<(u32, u64)>> {
    control.plan(PHASES - 1);
    Ok(ingest::read(source, &request.columns, Preference::Any, key, control)?.users_per_item())
}

/// Read the rows, run the mechanism, and return what may be published.
///
/// The result is a function of the set of rows, the request and the key alone (law 1).
///
/// # Errors
/// See [`crate::Error`].
pub fn select_partitions(
    source: Source,
    request: &Request,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Release> {
    let calibration = request.calibrate_once()?;
    let report = Report::new(request.clone(), calibration, key);
    control.plan(PHASES + report.calibration.rounds.len());
    let contributions = ingest::read(source, &request.columns, request.preference()?, key, control)?;
    let bounded = BoundedContributions::new(contributions, request.max_items_per_user, key, control)?;
    let selected = select_rounds(bounded, &report.calibration, request.with_weights, key, control)?;
    Release::publish(&selected, report)
}
