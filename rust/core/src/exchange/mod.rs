//! The pipeline in pieces, for engines that move rows between machines.
//!
//! Everything random is a function of the release key and of digests, so the pipeline can be cut where only digests go
//! on. Its stages are those of the local engine; what is new here is how they hand over:
//!
//! | stage | takes | makes | then |
//! |---|---|---|---|
//! | [`Encode`] | rows of the table | packed contributions, routed by user; packed numbers of users, routed by mark | all of a user's, and of a mark's, come together |
//! | [`Crowds`] | packed numbers of users | the large ones | every `Settle` knows which items cannot be released |
//! | [`Settle`] | packed contributions | settled contributions | they are kept for the rounds |
//! | [`Weigh`] | settled contributions | packed weights, routed by item | all of an item's come together |
//! | [`Decide`] | packed weights | decisions | they go to every `Weigh` of the next round: [`Known`] |
//! | [`Count`] | packed contributions | packed counts, routed by item | all of an item's come together |
//! | [`Sift`] | packed contributions | the items that pass a filter of many decisions, routed by item | all of an item's come together |
//! | [`Mistaken`] | these, and the decisions routed by [`scatter`] | the items that pass without being decided | they go to every task with the filter: [`Known`] |
//! | [`Total`] | packed counts | counts | the draw of [`TopK`] |
//! | [`Tilt`] | packed contributions and states of items | packed weights and states, routed by item | all of an item's come together |
//! | [`Steer`] | packed weights and states | new states, or decisions | states go to the users who hold the item |
//! | [`Name`] | rows of the table | digests and names of released items | [`Selection`], [`TopK`] |
//!
//! What goes between stages are rows of a route and a packed value: a few large rows instead of many small ones.
//! A stage that runs twice on the same input makes the same decisions, so lost work may be repeated.

mod at_items;
mod census;
mod count;
mod decide;
mod dictionary;
mod encode;
mod gather;
mod known;
mod name;
mod packed;
mod packing;
mod plan;
mod routing;
mod selection;
mod settle;
mod sift;
mod steer;
#[cfg(test)]
mod tests;
mod tilt;
mod top_k;
mod total;
mod weigh;

use arrow_array::RecordBatch;

pub use at_items::{AtItems, Verdict};
pub use census::{Crowds, MostUsers};
pub use count::Count;
pub use decide::{Decide, Decisions};
pub use encode::Encode;
pub use known::{Filter, Known};
pub use name::Name;
pub use packed::Packed;
pub use plan::{Plan, Work};
pub use selection::Selection;
pub use settle::Settle;
pub use sift::{Mistaken, Sift, scatter};
pub use steer::Steer;
pub use tilt::Tilt;
pub use top_k::{Drawn, TopK};
pub use total::Total;
pub use weigh::Weigh;

use crate::Result;

/// One task of a stage: takes the batches of its partition one after the other.
pub trait Stage: Send {
    /// Take a batch; returns what is ready.
    ///
    /// # Errors
    /// Those of the stage.
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>>;

    /// There are no more batches; returns the rest.
    ///
    /// # Errors
    /// Those of the stage.
    fn finish(&mut self) -> Result<Vec<RecordBatch>>;
}
