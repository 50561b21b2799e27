//! Partition selection: its request, and the stages in order.

mod counts;
mod lists;
mod looks;
mod request;
mod run;
mod weights;

pub(crate) use lists::PublicLists;
pub use request::{ListStamp, SelectRequest};
pub use run::select_partitions;
pub(crate) use run::{after_a_look, most_rounds, release_of, sizes_of_a_look};
