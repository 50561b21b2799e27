//! Thresholds and release curves: numbers that keep the release of an item of one user alone within delta.

pub mod calibration;
pub mod curve;
mod noisy;

pub use noisy::Noisy;
