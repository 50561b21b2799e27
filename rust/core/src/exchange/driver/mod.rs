//! The driver's part: the job that tasks share, and the steps before the first stage and after the last one.

mod deciding;
mod job;
mod named;
mod possible;
mod selection;
mod steering;
mod top_k;

pub use deciding::decided;
pub use job::{ExchangeJob, JobSpec};
pub(crate) use named::items_of;
pub(crate) use possible::{Beyond, Possible};
pub use selection::Selection;
pub use steering::{Steering, most_sums};
pub use top_k::{Drawn, TopK};
