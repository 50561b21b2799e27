//! A top-k from counts, whose items are known by position.

use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};

use super::draw::draw;
use super::request::{Domain, TopKRequest};
use crate::task::calibration::{Calibrated, Enforced};
use crate::task::report::Report;
use crate::top_k::{Counts, Place};

/// The answer from a vector of counts. An item is its position; items of a sized domain that have no position are
/// `None`. An answer without an order is sorted by position.
///
/// # Errors
/// [`Error::InvalidParameter`] for more items than there are; [`Error::Data`] for counts out of range; otherwise as
/// [`TopKRequest::calibrate`].
#[expect(clippy::type_complexity, reason = "a position and a noisy count for each item")]
pub fn top_k_from_counts(
    counts: &[i64],
    request: &TopKRequest,
    key: &ReleaseKey,
) -> Result<(Vec<(Option<usize>, Option<i64>)>, Report)> {
    let calibrated = Calibrated::of(request.clone(), request.calibrate()?);
    if calibrated.calibration.discovery.is_some() {
        return Err(Error::Incompatible {
            what: "this mechanism selects partitions, for which rows are needed, not counts".into(),
            fix: "use select_top_k or LimitDomain",
        });
    }
    let report = Report::new(Enforced::TopK(calibrated.clone()), key)?;
    let unseen = match request.domain {
        Domain::Sized { items } => items.checked_sub(counts.len() as u64).ok_or_else(|| {
            let fix = "it counts all items, also those that nobody holds";
            Error::parameter("domain", "at least the number of counts", items, fix)
        })?,
        Domain::Listed | Domain::Unknown => 0,
    };
    if unseen > 0 && request.mechanism.as_mechanism().needs_every_count() {
        return Err(Error::Incompatible {
            what: "this mechanism draws noise for every item, but domain= exceeds the number of counts"
                .into(),
            fix: "list the counts of all items, zeros too, or use Joint or JointSet",
        });
    }
    let picks = draw(Counts { counts, digests: None, unseen }, &calibrated, key)?;
    let mut items: Vec<(Option<usize>, Option<i64>)> = picks
        .into_iter()
        .map(|pick| match pick.place {
            Place::Listed(position) => (Some(position), pick.noisy),
            Place::Unseen => (None, pick.noisy),
        })
        .collect();
    if !request.mechanism.as_mechanism().is_ordered() {
        items.sort_unstable_by_key(|(position, noisy)| (position.is_none(), *position, *noisy));
    }
    Ok((items, report))
}
