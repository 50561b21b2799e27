//! The mechanisms: the weighting, noise, threshold and guarantee of each.
//!
//! A mechanism is one folder with a type that implements [`Mechanism`], and one line in `registry.rs`. Folders here are
//! those that `"auto"` can choose; the others are in `published`.
//! CONTRIBUTING walks through a new one.

mod budget_split;
mod by_name;
mod count_gaussian;
mod count_laplace;
pub mod forecast;
mod gaussian_part;
mod matching;
mod matching_or;
mod mechanism;
mod published;
mod registry;
mod shared;
mod sips;
mod steered;

pub(crate) use budget_split::blamed;
pub(crate) use by_name::mechanisms_by_name;
pub use count_gaussian::CountGaussian;
pub use count_laplace::CountLaplace;
pub use gaussian_part::GaussianPart;
pub use matching::Matching;
pub use matching_or::{Lists, Looked, MatchingOr};
pub use mechanism::{Mechanism, NoisyWeights, Properties, ReleaseStep};
pub use published::{
    GreedyCalibration, GreedyFrequency, Mad, Mad2R, OneItem, PolicyGaussian, PolicyLaplace, UnitGreedy,
    WeightedGaussian, WeightedLaplace,
};
pub use registry::MechanismSpec;
pub(crate) use shared::requirements::{no_pure_dp, value_slack, with_reserve};
pub use sips::Sips;
pub use steered::Steered;
pub(crate) use steered::{per_root, sizes as user_sizes};
