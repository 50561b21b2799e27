//! Differentially private partition selection: the items of a `(user, item)` table that may be published.
//!
//! The crate is a pipeline over what `dpsel_rows` holds. Each room uses only rooms before it in this table:
//!
//! | room | holds |
//! |---|---|
//! | [`look`] | noisy numbers of users, by which a mechanism is chosen |
//! | [`bounding`] | at most `max_items_per_user` items of each user stay |
//! | [`weighting`] | the items of users become an integer weight for each item |
//! | [`threshold`] | thresholds and release curves: numbers only |
//! | [`counting`] | noisy numbers of users of released items |
//! | [`rounds`] | the loop: weigh, decide, steer, remove |
//! | [`mechanisms`] | which weighting and rule each mechanism uses |
//! | [`release`] | released items become fresh columns and files |
//! | [`series`] | many releases of a table that grows, under one guarantee |
//! | [`top_k`] | draws of the items that most users hold |
//! | [`task`] | select, count and top-k: one request, one report, one run |

// A match on one of our enums names every variant, so that a new one is refused by the compiler and not granted what
// the rest has. Only where Arrow's many types are written does an arm take the rest.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod bounding;
pub mod counting;
pub mod look;
pub mod mechanisms;
#[allow(clippy::wildcard_enum_match_arm, reason = "types of Arrow, most of which are refused")]
pub mod release;
pub mod rounds;
pub mod series;
pub mod task;
pub mod threshold;
pub mod top_k;
pub mod weighting;
