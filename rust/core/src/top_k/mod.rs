//! The k items that most users hold.
//!
//! A mechanism is one folder here with a type that implements [`TopKMechanism`], and one line in `registry.rs`. It
//! takes counts of users and draws ranks; `ranking/` finds the item of a rank. `draws/` has the exact draws that
//! several mechanisms share, such as a random loss whose weight is a number of sequences, sets or items.

mod discover;
mod draws;
mod gamma;
mod gumbel_peel;
mod joint;
mod joint_set;
mod laplace_top_k;
mod limit_domain;
mod mechanism;
mod permute_flip_joint;
mod permute_flip_peel;
mod ranking;
mod registry;
mod select_and_count;
#[cfg(test)]
mod tests;

pub use discover::Discover;
pub(crate) use draws::discrete_gaussian::{checked_square_rate, gaussian};
pub(crate) use draws::discrete_laplace::laplace;
pub use gamma::Gamma;
pub use gumbel_peel::{Conversion, GumbelPeel};
pub use joint::Joint;
pub use joint_set::JointSet;
pub use laplace_top_k::LaplaceTopK;
pub use limit_domain::LimitDomain;
pub(crate) use mechanism::checked_rate;
pub use mechanism::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
pub use permute_flip_joint::PermuteFlipJoint;
pub use permute_flip_peel::PermuteFlipPeel;
pub use ranking::{Counts, MAX_COUNT, MAX_ITEMS, Place};
pub use registry::TopKSpec;
pub use select_and_count::SelectAndCount;
