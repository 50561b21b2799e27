//! The rounds, and the counts of users, on what is in scratch.

mod blocks;
mod candidates;
mod counts;
mod frequent_items;
mod job;
mod plain;
mod scored;

pub(super) use job::Rounds;
