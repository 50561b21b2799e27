//! Work on what is in scratch, by threads that share the memory limit.

mod bucket_order;
mod division;
mod memory;
mod output;
mod stages;

pub(super) use bucket_order::ByBucket;
pub(super) use division::divided;
pub use memory::LEAST;
#[cfg(test)]
pub(super) use memory::Memory;
pub(super) use memory::{LISTED, WEIGHED};
pub(super) use output::{Gathered, Output};
pub(super) use stages::{Stages, largest, parts};
