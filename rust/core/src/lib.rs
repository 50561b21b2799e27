//! Differentially private partition selection: the items of a `(user, item)` table that may be published.
//!
//! The crate is a pipeline of stages; each folder is one stage and uses only the stages to its left:
//!
//! | stage | folder | makes |
//! |---|---|---|
//! | read tables | [`ingest`] | encoded rows |
//! | group by user | [`contributions`] | [`contributions::Contributions`] |
//! | bound each user | [`bounding`] | [`bounding::BoundedContributions`] |
//! | add weights | [`weighting`] | [`weighting::WeightHistogram`] |
//! | add noise | [`noise`] | a random integer with an exact law |
//! | decide | [`threshold`] | the selected items |
//! | publish | [`release`] | [`release::Release`] |
//!
//! [`accounting`] (privacy parameters and their cost) and [`random`] (the keyed PRF) stand beside the
//! stages; [`mechanisms`] says which weighting, noise and threshold each published mechanism uses, and
//! [`pipeline`] runs the stages in order; [`cluster`] runs them in pieces on many machines. [`topk`] selects the items
//! that most users hold.

// A match on one of our enums names every variant, so that a new one is refused by the compiler and not granted what the rest
// has. Only where Arrow's many types are read and written does an arm take the rest.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod accounting;
pub mod bounding;
pub mod contributions;
pub mod error;
pub mod exchange;
#[allow(clippy::wildcard_enum_match_arm, reason = "types of Arrow, most of which are refused")]
pub mod ingest;
pub mod mechanisms;
pub mod noise;
pub mod numeric;
pub mod random;
#[allow(clippy::wildcard_enum_match_arm, reason = "types of Arrow, most of which are refused")]
pub mod release;
pub mod rounds;
pub mod runtime;
pub mod task;
pub mod threshold;
pub mod top_k;
pub mod weighting;

pub use error::{Error, Result};
