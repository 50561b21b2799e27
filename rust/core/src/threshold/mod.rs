//! Thresholds: the smallest weight at which releasing an item that one user alone holds stays within delta.

pub mod calibration;
pub mod curve;
mod evidence;
mod factor;
mod item_state;
mod look;
mod rounds;
mod rule;
mod steering;

pub use evidence::{Cap, Evidence, Publish, SHARES};
pub(crate) use item_state::{ItemState, Steering};
pub use look::Look;
pub use rounds::{Selected, select_rounds};
pub(crate) use rule::Decider;
pub use rule::{Noisy, Rule};

pub use crate::noise::Threshold;
