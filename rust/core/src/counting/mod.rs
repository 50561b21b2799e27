//! The numbers of users of released items, with noise: counts beside a selection, in one budget.
//!
//! A user counts in all released items that it holds, also beyond the limit of the selection. Its contributions have an
//! L2 norm of at most the root of `max_counted_items`. Theorem and proof: `docs/algorithms/counts.md`.

mod holdings;
mod noise;

pub(crate) use holdings::{Counted, Holdings};
pub(crate) use noise::each_contribution;
pub use noise::{CountNoise, CountedUsers, Paid};
