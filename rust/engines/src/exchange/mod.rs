//! The exchange: the stages of a release in pieces, for engines that move rows between machines or to disk.
//!
//! All randomness is a function of the release key and of digests. So any step whose output refers to items by digest
//! can run on another machine. The arithmetic is the local engine's. This table shows what the stages pass on, and to
//! which stage:
//!
//! | stage | takes | makes | goes to |
//! |---|---|---|---|
//! | [`Encode`] | rows of the table | packed contributions and user counts | contributions, by user; counts, by item hash |
//! | [`FrequentItems`] | user counts | the counts of frequent items | every [`Prune`] or [`BlockUsers`] |
//! | [`Prune`] | packed contributions | pruned contributions | every [`Weigh`] |
//! | [`Weigh`] | pruned contributions | packed weights | [`decided`]; its decisions to every [`Weigh`] of the next round, as a [`ReleasedSet`] |
//! | [`BlockUsers`] | packed contributions, counts of shared items | blocks of users; sums of weights of shared items | [`WeighBlocks`]; [`Steering`] |
//! | [`WeighBlocks`] | blocks of users, states of shared items | the same; in the last round decisions | the same |
//! | [`TakeOut`] | packed contributions, public items | the same without these | the stages of the rounds |
//! | [`Lengths`] | packed contributions | numbers of users by size | [`Selection::after_a_look`] |
//! | [`Count`] | packed contributions | packed counts | [`Total`], by item |
//! | [`Total`] | packed counts | counts | the draw of [`TopK`] |
//! | [`CountReleased`] | packed contributions, a released set | packed sums | [`NoisyCounts`], by item |
//! | [`NoisyCounts`] | packed sums | noisy numbers | [`Selection`] |
//! | [`FilterCandidates`] | packed contributions | items that pass a filter of released items | [`FalsePositives`] |
//! | [`FalsePositives`] | these items, [`bucket_decisions`] | items that pass but are not released | the filter |
//! | [`Name`] | rows of the table | digests and names of released items | [`Selection`] or [`TopK`] |
//!
//! Between stages travel rows of two columns, the bucket and a packed value: a few large rows instead of many small
//! ones. A *bucket* is a part of the users, or of the items. A stage that runs twice on the same input makes the
//! same decisions, so lost work may be repeated.
//!
//! The folders follow the data: `wire` is the format, `rows` and `items` are the stages on both sides of a shuffle,
//! `blocks` are those of scored rounds whose users stay where they are, and `driver` makes the stages and publishes the
//! release. Each uses only the folders before it.

mod blocks;
mod driver;
mod items;
mod rows;
mod stage;
#[cfg(test)]
pub(crate) mod tests;
mod wire;

pub use blocks::{BlockUsers, WeighBlocks};
pub use driver::{Drawn, ExchangeJob, Selection, Steering, TopK, added_up, decided, most_sums};
pub(crate) use driver::{ROWS_TOGETHER, in_order, of_digests};
pub use items::{FalsePositives, FrequentItems, NoisyCounts, OnItems, Sum, Total, bucket_decisions};
pub(crate) use rows::{
    BucketUsers, CandidateSums, Chances, NO_CODE, PackedPruned, Packing, PrunedUsers, Pruner, Weights,
    packed_again,
};
pub use rows::{
    Count, CountReleased, Encode, FilterCandidates, Gather, Lengths, Name, OnUsers, Prune, TakeOut, Weigh,
};
pub use stage::{Both, Stage};
pub(crate) use wire::{Buckets, ByDigest, Dictionaries, Lister, bucketed_batch, bucketed_values, item_hash};
pub use wire::{Decisions, Packed, ReleasedSet, UserCounts};
