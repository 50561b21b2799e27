//! How a job runs: threads, memory, progress, interruption, panics, and results that are remembered. Nothing here depends on
//! the data model.

mod control;
mod leftovers;
pub(crate) mod memory;
pub mod panics;
pub(crate) mod parallel;
mod remembered;
mod small_pages;

pub use control::{Control, Phase, Progress};
pub(crate) use control::{PHASES, REMOVING, TALLIED, Tally, WEIGHING};
pub use leftovers::Leftovers;
pub(crate) use remembered::Remembered;
