//! The driver's part: the job that tasks share, and the steps before the first stage and after the last one.

mod job;
mod names;
mod plain_rounds;
mod scored_rounds;
mod selection;
mod top_k;

pub use job::ExchangeJob;
pub(crate) use job::ROWS_TOGETHER;
pub(crate) use names::{in_order, of_digests};
pub use plain_rounds::{added_up, decided};
pub use scored_rounds::{Steering, most_sums};
pub use selection::Selection;
pub use top_k::{Drawn, TopK};
