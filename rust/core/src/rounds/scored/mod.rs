//! Scored rounds.
//!
//! Each user spreads its weight by public importances of its items. These are functions of the outcomes of earlier rounds.
//! So a user's weights depend on these outcomes and on its own items only. Their L2 norm in a round is at most the user's
//! norm of the round, and what one item gets over all rounds is at most the user's cap, both exactly.
//!
//! `division` divides the users into parts. `slots` says which items several users keep. `part` is one part of the users:
//! `rows` are those of shared items, and `alone_items` are the others, with what is known of each (`alone`). `sums` adds up
//! what shared items get. `users` runs all parts, and the loop here decides the shared items. `deciding` is for all
//! engines.

mod alone;
mod alone_items;
mod deciding;
mod division;
mod part;
mod rows;
mod slots;
mod sums;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use alone::Alone;
pub(crate) use deciding::{Known, Noises, ScoredDecider};

use slots::RANGE;
use users::Users;

use super::calibration::Calibration;
use super::decision::Decider;
use super::item_states::ItemStates;
use super::items::Weighed;
use super::scoring::{Publish, Scoring};
use super::selected::Selected;
use crate::bounding::BoundedContributions;
use crate::contributions::Totals;
use crate::random::{Purpose, ReleaseKey, Words};
use crate::runtime::{Control, parallel};
use crate::weighting::Drift;
use crate::{Error, Result};

/// Bytes of the state of an item: noise, exposure and importance.
const STATE_BYTES: usize = 8 + 4 + 2;
/// Bytes for each item code: its code, digest, weight and state. An item that one user alone keeps has no more.
const BYTES: usize = 4 + 16 + 8 + STATE_BYTES;
const _: () = assert!(alone_items::BYTES <= BYTES);
/// Bytes for each user: the place of its budget, and where its items are and how many. When these are gone, the sum of its
/// squares and what it gave in the first round.
const USER_BYTES: usize = size_of::<Option<u8>>() + size_of::<u64>() + size_of::<Drift>();

/// Bytes that scored rounds take at most.
pub(super) fn bytes(totals: Totals, control: &Control) -> usize {
    let Totals { users, codes, rows } = totals;
    // The last range of slots is filled up with states.
    codes * BYTES + RANGE * STATE_BYTES + users * USER_BYTES + Users::bytes(users, rows, codes, control)
}

/// Run rounds that are all scored.
///
/// No item moves up from a user's reserve, so reserves are dropped. Items only leave.
///
/// # Errors
/// Interruption; the limit of memory; [`Error::Internal`] for rounds that are not scored, or weights far beyond a user's
/// norm.
pub(super) fn score_rounds(
    contributions: BoundedContributions,
    calibration: &Calibration,
    (rounds, publish): (&[&Scoring], &Publish),
    with_weights: bool,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Selected> {
    let codes = contributions.vocabulary().code_bound();
    let totals = Totals { users: contributions.users(), codes, rows: contributions.rows() };
    let bytes = bytes(totals, control) as u64;
    control.charge_memory(bytes, "weighing the items")?;
    let (pieces, vocabulary) = contributions.into_kept_pieces();
    let (mut users, mut sums, keys) = Users::new(pieces, vocabulary, publish.budgets(), control);
    let mut states = ItemStates::new(calibration, sums.whole_ranges());
    let mut items = Vec::new();
    for (number, round) in (0_u32..).zip(rounds) {
        let decider = Decider::new(calibration, number, with_weights)?;
        let words = Words::new(key, Purpose::Noise, number);
        let importances = states.importances().ok_or(Error::Internal("scored rounds need importances"))?;
        let scored = ScoredDecider::new(&decider, &words)?;
        // Nothing remains: the states are for whole ranges.
        let (by_range, _) = importances.as_chunks();
        items.extend(users.run(&mut sums, (round.share, by_range), scored, control)?);
        let weighed = Weighed { decider, words, weights: &sums, lowered: 0 };
        items.extend(weighed.decide(&mut states, control).released);
        control.check()?;
        control.end_phase();
    }
    parallel::free_later(control, 1, vec![Box::new((users, sums, states))]);
    control.release_memory(bytes);
    Ok(Selected { items, keys })
}
