//! The rounds of a mechanism: weigh the items, decide each one, steer, remove the released items, repeat.

mod calibration;
mod importance;
mod item_state;
mod rule;
mod scoring;
mod screening;
mod select;
mod steering;

pub use calibration::{Calibration, Round};
pub(crate) use item_state::{ItemState, Steering};
pub(crate) use rule::Decider;
pub use rule::Rule;
pub use scoring::{Cap, Publish, SHARES, Scoring};
pub use screening::Screening;
pub use select::{Selected, select_rounds};
