//! The k items that most users hold.
//!
//! The mechanisms take counts of users and draw ranks: which item has a rank is looked up at the end. What they share
//! is an exact draw of an integer level, in [`levels`], whose weights are numbers of sequences, sets or items.

mod counts;
mod flip;
mod flip_joint;
mod gaussian;
mod joint;
mod joint_set;
mod levels;
mod mass;
mod matrix;
mod mechanisms;
mod noisy;
mod peel;
mod ranking;
#[cfg(test)]
mod tests;
mod window;

pub use counts::{Counts, MAX_COUNT, MAX_ITEMS, Place};
pub(crate) use gaussian::{checked_square_rate, gaussian};
pub use matrix::joint_by_matrix;
pub(crate) use mechanisms::checked_rate;
pub use mechanisms::{
    Conversion, Discover, Gamma, GumbelPeel, Joint, JointSet, LaplaceTopK, LimitDomain, Neighbours,
    Parameters, PermuteFlipJoint, PermuteFlipPeel, Pick, TopKCalibration, TopKMechanism, TopKSpec,
};
pub(crate) use noisy::laplace;
