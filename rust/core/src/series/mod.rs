//! A series: up to J releases of a table that grows, under one guarantee for all of them.
//!
//! Theorem: each user has one norm for all releases and books what it gives; an item comes out at the first release at
//! which its score since the start of a block reaches the threshold, and its noise alone does not. The thresholds of
//! all releases together are paid for out of one delta. Conditions, page and proof: `docs/algorithms/series.md`.
//!
//! `plan` has all integers, `calibration` finds them and `certificate` certifies them. `arrivals` brings rows to the
//! accounts of users (`account`). `walk` has the sums and the decision of an item, and `steering` its importance.
//! `opening` has what every release checks first, `release` makes one, from one `state` with its
//! `scores` to the next, and `lists` puts all lists together. `counts` is a series of numbers of users in place of lists.

mod account;
mod arrivals;
mod calibration;
mod certificate;
pub mod counts;
mod lists;
mod opening;
mod plan;
mod release;
mod scores;
mod state;
mod steering;
#[cfg(test)]
mod tests;
mod walk;
mod wire;

pub use lists::all_items;
pub use plan::{Asked, SeriesPlan};
pub use release::{ReleaseRemains, SeriesKeys, release};
