//! Counts of users, and the items at given ranks, found without sorting the counts.

mod counts;
mod ranks;
mod window;

pub use counts::{Counts, MAX_COUNT, MAX_ITEMS, Place};
pub(super) use ranks::RankedCounts;
