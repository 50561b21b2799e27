//! Partition selection: its request, and the stages in order.

mod counts;
mod lists;
mod request;
mod run;

pub use request::{ListStamp, SelectRequest};
pub use run::select_partitions;
pub(crate) use run::selected_items;
