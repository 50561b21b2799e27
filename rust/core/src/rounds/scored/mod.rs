//! Scored rounds in memory.
//!
//! `division` divides the users into parts. `slots` says which items several users keep. `lines` says which of a
//! tree stand above others. `users` makes blocks of all that, on which the driver of [`block`](super::block) runs the rounds.

mod descent;
mod division;
mod slots;
#[cfg(test)]
mod tests;
mod users;

use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{ItemCode, Totals};
use dpsel_rows::runtime::{Control, parallel};
use users::InBlocks;

use super::block::{ALONE_BYTES, Above, BlockRound, Driver, ITEM_BYTES, MemoryBlocks, RANGE};
use super::calibration::Calibration;
use super::released::Selected;
use super::scoring::Publish;
use crate::bounding::BoundedContributions;
use crate::weighting::Drift;

/// Bytes for each item code that one user alone keeps, or several: in the last case also the code of its slot.
const BYTES: usize = ALONE_BYTES;
const SHARED_BYTES: usize = size_of::<u32>() + ITEM_BYTES;
/// Bytes of what stands above an item code, where some do.
pub(super) const LINE_BYTES: usize = size_of::<[Above; 2]>() + size_of::<u16>();
/// Bytes for each user: the place of its allowance, and where its items are and how many. When these are gone, the sum of its
/// squares and what it gave in the first round.
const USER_BYTES: usize = size_of::<u8>() + size_of::<u64>() + size_of::<Drift>();

/// Bytes that scored rounds take at most.
pub(super) fn bytes(totals: Totals, control: &Control) -> usize {
    let Totals { users, codes, rows } = totals;
    // An item of several users has two rows or more. The last range of slots is filled up.
    let more_of_shared = codes.min(rows / 2) * SHARED_BYTES.saturating_sub(BYTES) + RANGE * size_of::<u16>();
    codes * BYTES + more_of_shared + users * USER_BYTES + users::bytes(users, rows, codes, control)
}

/// Run rounds that are all scored.
///
/// No item moves up from a user's reserve, so reserves are dropped. Items only leave.
///
/// # Errors
/// Interruption; the limit of memory; [`dpsel_exact::Error::Internal`] for rounds that are not scored, or weights far beyond a
/// user's norm.
pub(super) fn score_rounds(
    contributions: BoundedContributions,
    (calibration, publish): (&Calibration, &Publish),
    with_weights: bool,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Selected> {
    let codes = contributions.vocabulary().code_bound();
    let totals = Totals { users: contributions.users(), codes, rows: contributions.rows() };
    let lines = contributions.vocabulary().keys().lineage().map_or(0, |_| codes * LINE_BYTES);
    let bytes = (bytes(totals, control) + lines) as u64;
    control.charge_memory(bytes, "weighing the items")?;
    let rounds = BlockRound::all(calibration, with_weights, key)?;
    let (pieces, vocabulary) = contributions.into_kept_pieces();
    let InBlocks { users, items, shared, codes, keys, threads } =
        InBlocks::new(pieces, vocabulary, &publish.allowances(), control)?;
    let items = MemoryBlocks::new(items, parallel::threads_for(codes.len(), control), None);
    let mut driver = Driver::new(rounds, shared, items);
    let mut users = MemoryBlocks::new(users, threads, Some(control));
    let (alone, shared) = driver.run(&mut users, control)?;
    let mut items = Vec::with_capacity(alone.len() + shared.len());
    items.extend(alone.into_iter().map(|found| found.renamed(ItemCode)));
    items.extend(shared.into_iter().map(|found| found.renamed(|slot| ItemCode(codes[slot as usize]))));
    parallel::free_later(control, 1, vec![Box::new((users.into_blocks(), driver.into_parts()))]);
    control.release_memory(bytes);
    Ok(Selected { items, keys })
}
