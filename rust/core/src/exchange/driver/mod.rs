//! The driver's part: the job that tasks share, and the steps before the first stage and after the last one.

mod deciding;
mod job;
mod named;
mod selection;
mod steering;
mod top_k;

pub use deciding::decided;
pub use job::ExchangeJob;
pub(crate) use named::{in_order, of_digests};
pub use selection::Selection;
pub(crate) use selection::runs_in_pieces;
pub use steering::{Steering, most_sums};
pub use top_k::{Drawn, TopK};
