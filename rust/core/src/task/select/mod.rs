//! Partition selection: its request, and its steps in order.

mod beyond_memory;
mod choices;
mod lists;
mod looks;
mod request;
mod run;
mod weights;

pub use beyond_memory::{BeyondMemory, check_order};
pub use choices::Possible;
pub(super) use choices::beside_rows;
pub use lists::PublicLists;
pub use request::{ListStamp, SelectRequest};
pub(crate) use run::select_on;
pub use run::{after_a_look, publish, select_partitions, sizes_of_a_look};
