//! Partition selection: its request, and its steps in order.

mod choices;
mod lists;
mod looks;
mod request;
mod run;
mod weights;

pub(crate) use choices::Possible;
pub(crate) use lists::PublicLists;
pub use request::{ListStamp, SelectRequest};
pub use run::select_partitions;
pub(crate) use run::{after_a_look, publish, select_on, sizes_of_a_look};
