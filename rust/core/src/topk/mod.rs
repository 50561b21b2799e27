//! The k items that most users hold.
//!
//! The mechanisms take counts of users and draw ranks: which item has a rank is looked up at the end. What they share
//! is an exact draw of an integer level, in [`levels`], whose weights are numbers of sequences, sets or items.

mod enclosure;
mod flip;
mod joint;
mod joint_set;
mod levels;
mod noisy;
mod peel;
mod ranking;
mod scaled;
#[cfg(test)]
mod tests;
mod uniform;

pub use ranking::{Counts, MAX_COUNT, MAX_ITEMS, Place};
