//! How a job runs: threads, memory, progress, interruption and panics. Nothing here depends on the data model.

mod control;
pub(crate) mod memory;
pub mod panics;
pub(crate) mod parallel;

pub use control::{Control, Progress};
pub(crate) use control::{PHASES, REMOVING, TALLIED, Tally, WEIGHING};
