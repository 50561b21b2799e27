//! How a job runs: threads, memory, progress, interruption, panics, and results that are remembered. Nothing here depends on
//! the data model.

mod control;
mod deferred_frees;
pub mod memory;
pub mod panics;
pub mod parallel;
mod progress;
mod result_cache;
mod small_pages;

pub use control::Control;
pub use deferred_frees::DeferredFrees;
pub use progress::{PHASES, Phase, Progress, REMOVING, TALLIED, Tally, WEIGHING};
pub use result_cache::Remembered;
