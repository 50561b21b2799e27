//! The k items that most users hold.
//!
//! The mechanisms take counts of users and draw ranks: which item has a rank is looked up at the end. What they share
//! is an exact draw of an integer level, in [`levels`], whose weights are numbers of sequences, sets or items.

mod counts;
mod enclosure;
mod exponential;
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
mod outlook;
mod peel;
mod ranking;
mod report;
mod request;
mod rows;
mod scaled;
#[cfg(test)]
mod tests;
mod uniform;
mod window;

pub use counts::{Counts, MAX_COUNT, MAX_ITEMS, Place};
pub use matrix::joint_by_matrix;
pub use mechanisms::{
    Conversion, Discover, Gamma, GumbelPeel, Joint, JointSet, LaplaceTopK, LimitDomain, Neighbours,
    Parameters, PermuteFlipJoint, PermuteFlipPeel, Pick, TopKCalibration, TopKMechanism, TopKSpec,
};
pub use outlook::loss_bound;
pub use report::TopKReport;
pub use request::{Domain, PublishedCounts, TopKRequest};
pub(crate) use rows::{Counted, answer, check_size, held_items};
pub use rows::{TopKRelease, draw, top_k_from_counts, top_k_from_rows};
