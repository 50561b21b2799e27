//! Tasks: what a caller can ask for, how it runs, and the report of what was enforced.

mod report;
mod request;
mod sealed;
mod select;
mod top_k;
mod top_k_forecast;
mod top_k_report;
mod top_k_request;

pub use report::{CheckOutcome, KeyStamp, Report};
pub(crate) use report::{checked_commitment, checked_version};
pub use request::Request;
pub(crate) use sealed::{checked_fields, differences_of, sealed};
pub use select::{Release, select_partitions, users_per_item};
pub(crate) use top_k::{Counted, answer, check_size, held_items};
pub use top_k::{TopKRelease, draw, top_k_from_counts, top_k_from_rows};
pub use top_k_forecast::loss_bound;
pub use top_k_report::TopKReport;
pub use top_k_request::{Domain, PublishedCounts, TopKRequest};
