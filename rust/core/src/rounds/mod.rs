//! The rounds of a mechanism: weigh the items, decide each item, steer the weights, remove the decided items.
//!
//! [`run_rounds`] is the loop in memory. `turns` has the order of rounds for every engine. There are four kinds of round:
//!
//! * a *plain* round releases items, by noise and a threshold or by a release curve (DP-SIPS has several of them);
//! * a *screening* round releases nothing and sets the importance of each item for the later rounds (`Mad2R`);
//! * a *ranking* round releases nothing and sets the order of the items for the next round (`Matching`);
//! * a *scored* round adds its noisy weights to cumulative scores; the last one releases by the scores (`Steered`).
//!
//! Scored rounds have a loop of their own, because each user gives every item a limited weight over all of them. It runs on
//! blocks of users and items (`block`), here (`scored`), from a disk and on Spark.
//!
//! [`Decider`] decides one item in any of them but the ranking ones, here and in the exchange.

mod block;
mod calibration;
mod decision;
mod importance;
mod item_states;
mod items;
mod least_users;
mod noisy_ranks;
mod plain;
mod ranking;
mod released;
mod rule;
mod scored;
mod scoring;
mod screening;
mod turns;

pub use block::{
    BLOCK_ITEMS, BlockFiller, BlockRound, Blocks, Driver, ItemBlock, MOST_SHARED, MemoryBlocks, PackBlock,
    SharedLines, SharedTable, UserBlock,
};
pub use calibration::{Calibration, Round};
pub use decision::Decider;
pub use least_users::Lowered;
pub use plain::{bytes, run_rounds};
pub use ranking::Ranking;
pub use released::{Released, Selected};
pub use rule::Rule;
pub use scoring::{NoiseCheck, Publish, Scoring, UserSize};
pub use screening::Screening;
pub use turns::{Deciding, Turn, Turns};
