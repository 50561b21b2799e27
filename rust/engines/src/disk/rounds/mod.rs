//! The rounds, and the counts of users, on what is in scratch.

mod blocks;
mod candidates;
mod counts;
mod item_codes;
mod job;
mod plain;
mod scored;

pub(super) use job::Rounds;
