//! Partition selection: the stages in order.

use arrow_array::RecordBatch;

use super::{Report, Request};
use crate::Result;
use crate::bounding::BoundedContributions;
use crate::contributions;
use crate::ingest::Source;
use crate::random::ReleaseKey;
use crate::release::publish;
use crate::rounds::select_rounds;
use crate::runtime::{Control, PHASES};

/// What leaves the crate: the items and the report, nothing else of the data (law 5).
#[derive(Debug, Clone)]
pub struct Release {
    /// The released items, sorted by their own values; with a `weight` column (f64) last if asked for.
    pub items: RecordBatch,
    /// Parameters and calibrations; no data.
    pub report: Report,
}

/// Counts how many items have how many users, as (users, items) in ascending order.
///
/// The counts are exact, hence for public data only.
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
    Ok(contributions::read(source, &request.columns, None, key, control)?.users_per_item())
}

/// Reads the rows, runs the mechanism, and returns what may be published.
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
    let contributions = contributions::read(source, &request.columns, request.item_order()?, key, control)?;
    let bounded = BoundedContributions::new(contributions, request.max_items_per_user, key, control)?;
    let selected = select_rounds(bounded, &report.calibration, request.with_weights, key, control)?;
    Ok(Release { items: publish(&selected, request.with_weights)?, report })
}
