//! The disk engine: a release of more rows than fit into memory, on one machine.
//!
//! The first rows are read into memory as always. If they take more than their part of the memory limit, or if the rounds
//! behind them would not fit when all are read, they are packed and go to scratch. Later rows go through an empty table
//! again, or straight there if the rows of a user stand side by
//! side or are scattered among many users (`unindexed_rows`). At the end the rounds run on what is in scratch (`rounds`): with
//! the weights and decisions of memory, on items by code. So the release is the same bit for bit. Users are counted by the
//! stages of [`exchange`](crate::exchange), as on Spark. A mechanism whose users react to each other runs in memory only.
//!
//! ```text
//! rows -> [full] -> packed contributions by bucket of users, user counts, names   in scratch
//! user counts -> counts of frequent items                                            in memory
//! contributions -> pruned or bounded users, whose items go by codes                  in scratch
//! users -> weights of items -> decisions, in each round                              in memory
//! names: from digests, by a second read of files, or from scratch
//! ```
//!
//! The folders follow the data, and each uses only those before it: `threads` divides the work among threads within the
//! memory limit, `reading` puts rows into scratch, and `rounds` makes the decisions. `engine` answers what a task asks.
//!
//! See `docs/decisions/0013-disk.md` for how the memory is divided.

mod engine;
mod reading;
mod rounds;
mod run;
#[cfg(test)]
mod tests;
mod threads;

pub use run::{can_work, check, run};
pub use threads::LEAST;
