//! The driver's part: what tasks share, and what happens before the first stage and after the last one.

mod job;
mod named;
mod selection;
mod top_k;

pub use job::{ExchangeJob, JobSpec};
pub use selection::Selection;
pub use top_k::{Drawn, TopK};
