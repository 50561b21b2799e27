//! The numbers of users of released items, or of their rows, with noise: counts beside a selection, in one budget.
//!
//! A user counts in all released items that it holds, also beyond the limit of the selection. Its contributions have an
//! L2 norm of at most the root of `max_counted_items`, times `max_rows_per_item` where rows are counted. Theorem and
//! proof: `docs/algorithms/counts.md`.

mod coverage;
mod holdings;
mod limit;
mod noise;
mod numbers;
mod rest;

pub use coverage::PublishedRest;
pub(crate) use holdings::{CountedItem, Holdings};
pub use limit::CountLimit;
pub use noise::{CountNoise, CountedUsers, Paid, ROWS_COLUMN, USERS_COLUMN};
pub use numbers::{NumberNoise, NumbersAsked};
pub use rest::{Rest, RestNoise, RestSums};
