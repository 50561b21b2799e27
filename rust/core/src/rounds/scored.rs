//! The loop over scored rounds.

use super::calibration::Calibration;
use super::decision::Decider;
use super::item_states::ItemStates;
use super::items::Weighed;
use super::scoring::{Publish, Scoring};
use super::selected::Selected;
use crate::bounding::BoundedContributions;
use crate::random::{Purpose, ReleaseKey, Words};
use crate::runtime::Control;
use crate::weighting::ReweightedHistogram;
use crate::{Error, Result};

/// Bytes for each item code: its code or slot, digest, weight, noise, exposure and importance.
const BYTES: usize = 4 + 16 + 8 + 8 + 4 + 2;
/// Bytes for each row: what the user gave to the item.
const ROW_BYTES: usize = 2;

/// Run rounds that are all scored.
///
/// Users keep the same items in all rounds, apart from abandoned ones: the reserve is dropped.
///
/// # Errors
/// Interruption; the limit of memory.
pub(super) fn score_rounds(
    contributions: BoundedContributions,
    calibration: &Calibration,
    (rounds, publish): (&[&Scoring], &Publish),
    with_weights: bool,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Selected> {
    let codes = contributions.vocabulary().code_bound();
    let bytes = codes * BYTES + contributions.rows() * ROW_BYTES + contributions.users();
    control.charge_memory(bytes as u64, "weighing the items")?;
    let (rows, vocabulary) = contributions.into_kept_rows();
    let mut histogram = ReweightedHistogram::new(rows, &vocabulary, publish.budgets(), control);
    let mut states = ItemStates::new(calibration, histogram.slots());
    let mut released = Vec::new();
    for (number, round) in (0_u32..).zip(rounds) {
        let importances = states.importances().ok_or(Error::Internal("scored rounds need importances"))?;
        histogram.weigh(round.share, importances, control)?;
        let weighed = Weighed {
            decider: Decider::new(calibration, number, with_weights)?,
            words: Words::new(key, Purpose::Noise, number),
            histogram: &histogram,
            vocabulary: &vocabulary,
            lowered: 0,
        };
        released.extend(weighed.decide(&mut states, control).released);
        control.check()?;
        control.end_phase();
    }
    Ok(Selected { items: released, vocabulary })
}
