//! Top-k: its request, the draw from counts, the counts of rows, and the forecast for a budget.

mod draw;
mod forecast;
mod from_counts;
mod request;
mod rows;

pub use forecast::loss_bound;
pub use from_counts::top_k_from_counts;
pub use request::{Domain, PublishedCounts, TopKRequest};
pub use rows::top_k_from_rows;
pub(crate) use rows::{Draw, TopKOfRows, top_k_on};
