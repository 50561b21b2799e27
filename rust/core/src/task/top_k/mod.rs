//! Top-k: its request, the draw from counts, the counts of rows, and the forecast for a budget.

mod counts;
mod draw;
mod forecast;
mod request;
mod rows;

pub use counts::top_k_from_counts;
pub use forecast::loss_bound;
pub use request::{Domain, PublishedCounts, TopKRequest};
pub(crate) use rows::top_k_on;
pub use rows::{Draw, TopKOfRows, top_k_from_rows};
