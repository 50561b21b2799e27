//! Release curves: the probability of a release as a function of the weight, without noise or threshold.
//!
//! An item of weight H is released with probability pi(H), independently of all others. The curve pi is the largest
//! one for which every change that one user can make stays within its part of the budget; statement and proof are in
//! `docs/algorithms/release_curves.md`.

mod calibration;
mod continuous;
mod kind;
mod l1;
mod l2;
mod probability;
mod region;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use calibration::worthwhile_weight;
pub use calibration::{
    l1_curve, l1_quantum, l2_continuous_curve, l2_curve, l2_curves, one_unit_curve, screening_and_curve,
};
pub use kind::{CurveKind, CurveSpec};
pub use words::Curve;
