//! The mechanisms: the weighting, noise, threshold and guarantee of each.
//!
//! A mechanism is one folder here with a type that implements [`Mechanism`], and one line in `registry.rs`.
//! CONTRIBUTING walks through a new one.

mod beside;
mod by_length;
mod by_name;
mod count_gaussian;
mod count_laplace;
pub mod forecast;
mod gaussian_part;
mod greedy_frequency;
mod mad;
mod mad2r;
mod matching;
mod mechanism;
mod one_item;
mod policy_gaussian;
mod policy_laplace;
mod registry;
mod shared;
mod sips;
mod steered;
mod unit_greedy;
mod weighted_gaussian;
mod weighted_laplace;

pub(crate) use beside::blamed;
pub use by_length::{ByLength, Lists, Looked};
pub(crate) use by_name::mechanisms_by_name;
pub use count_gaussian::CountGaussian;
pub use count_laplace::CountLaplace;
pub use gaussian_part::GaussianPart;
pub use greedy_frequency::{GreedyCalibration, GreedyFrequency};
pub use mad::Mad;
pub use mad2r::Mad2R;
pub use matching::Matching;
pub use mechanism::{Mechanism, NoisyWeights, Properties, ReleaseStep};
pub use one_item::OneItem;
pub use policy_gaussian::PolicyGaussian;
pub use policy_laplace::PolicyLaplace;
pub use registry::MechanismSpec;
pub use sips::Sips;
pub use steered::Steered;
pub use unit_greedy::UnitGreedy;
pub use weighted_gaussian::WeightedGaussian;
pub use weighted_laplace::WeightedLaplace;
