//! Tasks: the requests of a caller, how they run, and the report of the enforced parameters.
//!
//! A [`Request`] says which task it is, [`run`] does it, and a [`Report`] says the same task. Each task is written once,
//! over what an engine answers (`held`): rows in memory (`in_memory`), or those of the rooms above.

mod calibration;
mod count;
mod engine;
mod job;
mod memory;
mod report;
mod request;
mod run;
mod seal;
mod select;
mod top_k;

pub use calibration::{Calibrated, CalibratedSelect, CalibratedTopK, Enforced};
pub use count::{CountRequest, users_per_item};
pub use engine::{AfterRounds, Engine, Found, Held, ItemFacts, Plan, ToCount};
pub use job::JobSpec;
pub use memory::{MemoryRows, count};
pub use report::{FORMAT, KeyStamp, Release, Report};
pub use request::Request;
pub use run::{Outcome, run, run_on};
pub use select::{
    BeyondMemory, ListStamp, Possible, PublicLists, SelectRequest, after_a_look, check_order, publish,
    select_partitions, sizes_of_a_look,
};
pub use top_k::{
    Domain, Draw, PublishedCounts, TopKOfRows, TopKRequest, loss_bound, top_k_from_counts, top_k_from_rows,
};
