//! Weights: how users spread their weight over their items, in integers.

mod greedy;
mod histogram;
mod kind;
mod mad;
mod matching;
mod norm;
mod order;
mod policy_l1;
mod policy_l2;
mod round;
mod spread;
#[cfg(test)]
mod tests;

pub use greedy::Greedy;
pub use histogram::WeightHistogram;
pub use kind::{ALL_ITEMS, Weighting};
pub use mad::MadWeights;
pub use matching::{FilledSlots, MatchingSlots};
pub(crate) use norm::L2Norm;
pub use policy_l1::PolicyL1;
pub use policy_l2::PolicyL2;
pub use round::{Guidance, filled_slots, weigh_round};
pub(crate) use spread::{Allowance, Drift, LARGEST_NORM, RoundAllowance, Spread, scale, square, weight_at};
pub use spread::{Allowances, FULL_IMPORTANCE, SHARES};
