//! Engines for more rows than memory: the stages of the core in pieces.
//!
//! | room | holds |
//! |---|---|
//! | [`exchange`] | the stages in pieces, for engines that move rows |
//! | [`disk`] | an engine that moves them to the disk of this machine |

// A match on one of our enums names every variant, so that a new one is refused by the compiler and not granted what
// the rest has.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod disk;
pub mod exchange;
