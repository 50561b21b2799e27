//! Mechanisms of the literature, and variants of them, that `"auto"` never chooses. They run in memory only if their
//! users react to each other.

mod greedy_frequency;
mod mad;
mod mad2r;
mod one_item;
mod policy_gaussian;
mod policy_laplace;
mod unit_greedy;
mod weighted_gaussian;
mod weighted_laplace;

pub use greedy_frequency::{GreedyCalibration, GreedyFrequency};
pub use mad::Mad;
pub use mad2r::Mad2R;
pub use one_item::OneItem;
pub use policy_gaussian::PolicyGaussian;
pub use policy_laplace::PolicyLaplace;
pub use unit_greedy::UnitGreedy;
pub use weighted_gaussian::WeightedGaussian;
pub use weighted_laplace::WeightedLaplace;
