//! The loop over scored rounds.

mod alone;
mod alone_items;
mod deciding;
mod part;
mod parts;
mod rows;
mod slots;
mod sums;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use alone::Alone;
pub(crate) use deciding::{Deciding, Noises};

use users::Users;

use super::calibration::Calibration;
use super::decision::Decider;
use super::item_states::ItemStates;
use super::items::Weighed;
use super::scoring::{Publish, Scoring};
use super::selected::Selected;
use crate::bounding::BoundedContributions;
use crate::random::{Purpose, ReleaseKey, Words};
use crate::runtime::Control;
use crate::{Error, Result};

/// Bytes for each item code, at most: its code, digest, weight, noise, exposure and importance. Those of an item that one
/// user alone holds are fewer.
const BYTES: usize = 4 + 16 + 8 + 8 + 4 + 2;
/// Bytes for each row: its slot, its user, and what the user gave. The memory of its item, which was counted, is freed.
const ROW_BYTES: usize = 4 + 2 + 2 - 4;
/// Bytes for each user: where its items are and how many; then how many it alone holds, and the place of its budget.
const USER_BYTES: usize = 8 + 4 + 1;

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
    let bytes = codes * BYTES + contributions.rows() * ROW_BYTES + contributions.users() * USER_BYTES;
    control.charge_memory(bytes as u64, "weighing the items")?;
    let (pieces, vocabulary) = contributions.into_kept_pieces();
    let (mut users, mut shared, keys) = Users::new(pieces, vocabulary, publish.budgets(), control);
    let mut states = ItemStates::new(calibration, shared.len());
    let mut items = Vec::new();
    for (number, round) in (0_u32..).zip(rounds) {
        let decider = Decider::new(calibration, number, with_weights)?;
        let words = Words::new(key, Purpose::Noise, number);
        let importances = states.importances().ok_or(Error::Internal("scored rounds need importances"))?;
        let deciding = Deciding::new(&decider, &words)?;
        items.extend(users.run(&mut shared, (round.share, importances), deciding, control)?);
        let weighed = Weighed { decider, words, weights: &shared, lowered: 0 };
        items.extend(weighed.decide(&mut states, control).released);
        control.check()?;
        control.end_phase();
    }
    Ok(Selected { items, keys })
}
