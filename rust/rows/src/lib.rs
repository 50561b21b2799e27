//! From tables to the distinct items of each user.
//!
//! | room | holds |
//! |---|---|
//! | [`runtime`] | threads, memory, progress, interruption |
//! | [`scratch`] | what does not fit into memory, encrypted on the disk of this machine |
//! | [`ingest`] | tables become encoded rows |
//! | [`contributions`] | rows become the distinct items of each user |

// A match on one of our enums names every variant, so that a new one is refused by the compiler and not granted what
// the rest has. Only where Arrow's many types are read does an arm take the rest.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod contributions;
#[allow(clippy::wildcard_enum_match_arm, reason = "types of Arrow, most of which are refused")]
pub mod ingest;
pub mod runtime;
pub mod scratch;
