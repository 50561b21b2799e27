//! The exchange: the stages of a release in pieces, for engines that move rows between machines or to disk.
//!
//! Everything random is a function of the release key and of digests, so a release can be cut wherever only digests go
//! on. The arithmetic is that of the local engine. New is how the stages hand over to each other:
//!
//! | stage | takes | makes | the result |
//! |---|---|---|---|
//! | [`Encode`] | rows of the table | packed contributions, by partition of users; user counts, by item hash | comes together by user, and by item hash |
//! | [`FrequentItems`] | user counts | the counts of frequent items | goes to every [`Prune`] |
//! | [`Prune`] | packed contributions | pruned contributions | is kept for the rounds |
//! | [`Weigh`] | pruned contributions | packed weights, by partition of items | comes together by item |
//! | [`Decide`] | packed weights | decisions | goes to every [`Weigh`] of the next round, as a [`ReleasedSet`] |
//! | [`Reweight`] | packed contributions and states of items | messages, by partition of items | comes together by item |
//! | [`Steer`] | messages | new states, or decisions in the last round | goes to the users who hold the item |
//! | [`Count`] | packed contributions | packed counts, by partition of items | comes together by item |
//! | [`Total`] | packed counts | counts | goes to the draw of [`TopK`] |
//! | [`FilterCandidates`] | packed contributions | the items that pass a filter of released items | comes together by item |
//! | [`FalsePositives`] | these items and the decisions, by [`partition_decisions`] | the items that pass and were not released | is appended to the filter |
//! | [`Name`] | rows of the table | digests and names of released items | goes to [`Selection`] or [`TopK`] |
//!
//! Between stages travel rows of two columns, the partition and a packed value: a few large rows instead of many small
//! ones. A *partition* is a part of the users, or of the items. A stage that runs twice on the same input makes the
//! same decisions, so lost work may be repeated.
//!
//! The folders follow the data: `wire` is the format, `rows` and `items` are the stages on both sides of a shuffle, and
//! `driver` makes the stages and publishes the release. Each uses only the folders before it.

mod driver;
mod items;
mod rows;
mod stage;
#[cfg(test)]
mod tests;
mod wire;

pub use driver::{Drawn, ExchangeJob, JobSpec, Selection, TopK};
pub use items::{Decide, FalsePositives, FrequentItems, OnItems, Steer, Sum, Total, partition_decisions};
pub use rows::{Count, Encode, FilterCandidates, Gather, Name, OnUsers, Prune, Reweight, Weigh};
pub use stage::Stage;
pub use wire::{Decisions, Packed, ReleasedSet, UserCounts};
