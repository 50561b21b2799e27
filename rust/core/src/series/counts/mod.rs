//! A series of numbers: how many users public items have, release after release, under one guarantee for all of them.
//!
//! Theorem: what one user counts in all releases, through a lower triangular matrix R, has a norm that its account
//! enforces in exact integers. Each release adds fresh Gaussian noise to its row of R times the counts, and what is
//! published is a function of these noisy values. Page and proof: `docs/algorithms/count_series.md`.
//!
//! `plan` has all integers, `calibration` finds and certifies them. `account` says what a user counts. `release` makes
//! one release, from one `state` to the next.

mod account;
mod calibration;
mod plan;
mod release;
mod state;
#[cfg(test)]
mod tests;

pub use plan::{CountsAsked, CountsPlan, CountsUnit};
pub use release::release_counts;
