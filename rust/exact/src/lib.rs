//! What every stage may use: errors, exact arithmetic, randomness by a key, guarantees and noise. Nothing here knows rows.
//!
//! | room | holds |
//! |---|---|
//! | [`error`] | the one error type and its messages |
//! | [`numeric`] | numbers with certified bounds |
//! | [`random`] | the release key and pseudorandom functions of it |
//! | [`accounting`] | guarantees and their cost |
//! | [`noise`] | a weight and a word become a decision, with an exact law |

// A match on one of our enums names every variant, so that a new one is refused by the compiler and not granted what
// the rest has.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod accounting;
pub mod error;
pub mod noise;
pub mod numeric;
pub mod random;

pub use error::{Error, Result, Size};
