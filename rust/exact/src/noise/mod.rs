//! Additive noise with an exact law: the continuous variable rounded down to whole grid steps.
//!
//! The noise N of an item is a function of one pseudorandom 128-bit word U: N >= t iff
//! U < P[N >= t] 2^128. So the decision "weight + N >= T" is a comparison of U with a certified probability,
//! the noisy weight is the weight plus the largest t for which it holds, and both always agree.
//!
//! Up to three layers make a decision: a table over the weight, `f64` enclosures of the tail, and enclosures of any
//! precision in big integers. Each layer answers only where its answer is certain. `docs/algorithms/noise.md` has the
//! proof of the law and the slack.

mod decision;
mod decision_table;
mod fixed_point;
mod kind;
mod law;
mod quantile;
mod tail;
mod threshold;

pub use decision::NoisyThreshold;
pub use kind::Noise;
pub use threshold::Threshold;
