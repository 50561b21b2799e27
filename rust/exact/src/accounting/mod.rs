//! Privacy parameters, the costs of mechanisms, and conversions between the two, always rounded the safe way.
//!
//! The theorems and their proofs are in `docs/algorithms/accounting.md`.

pub mod conversion;
mod cost;
pub mod gaussian;
mod guarantee;
mod params;
mod search;
mod slack;

pub use conversion::ConvertedPrivacy;
pub use cost::{Cost, composed};
pub use guarantee::Guarantee;
pub use params::{L0Bound, Privacy};
pub use search::{minimise, root};
pub use slack::{DECISION_SLACK, RELEASE_SLACK, without_decision_slack};
