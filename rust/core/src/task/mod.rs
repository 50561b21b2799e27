//! Tasks: the requests of a caller, how they run, and the report of the enforced parameters.
//!
//! A [`Request`] says which task it is, [`run`] does it, and a [`Report`] says the same task.

mod calibrated;
mod count;
mod report;
mod request;
mod run;
mod sealed;
mod select;
mod top_k;

pub use calibrated::{Calibrated, CalibratedSelect, CalibratedTopK, Enforced};
pub use count::{CountRequest, users_per_item};
pub use report::{FORMAT, KeyStamp, Release, Report};
pub use request::Request;
pub use run::{Outcome, run};
pub use select::{ListStamp, SelectRequest, select_partitions};
pub(crate) use select::{PublicLists, after_a_look, most_rounds, release_of, sizes_of_a_look};
pub(crate) use top_k::{
    Counted, answer, check_size, columns_of_rows, draw, held_items, items_of_contributions, phases,
};
pub use top_k::{Domain, PublishedCounts, TopKRequest, loss_bound, top_k_from_counts, top_k_from_rows};
