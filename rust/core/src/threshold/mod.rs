//! Thresholds: the smallest weight at which releasing an item that one user alone holds stays within delta.

pub mod calibration;
mod rounds;

pub use rounds::{Selected, select_rounds};

pub use crate::noise::Threshold;
