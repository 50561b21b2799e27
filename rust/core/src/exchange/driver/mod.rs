//! The driver's part: the job that tasks share, and the steps before the first stage and after the last one.

mod deciding;
mod job;
mod named;
mod possible;
mod selection;
mod steering;
mod top_k;

pub use deciding::{added_up, decided};
pub use job::ExchangeJob;
pub(crate) use job::ROWS_TOGETHER;
pub(crate) use named::{in_order, of_digests};
pub(crate) use possible::{Beyond, check_order};
pub use selection::Selection;
pub use steering::{Steering, most_sums};
pub use top_k::{Drawn, TopK};
