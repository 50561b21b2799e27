//! Contributions become pruned: only the data of each user that the rounds need stays.
//!
//! An item that no round can release matters to its users in two ways only. It counts among the k items of the user, on
//! which the user's weights depend. And it has a rank in the user's order of priority. So it is left out, and with it
//! nearly all digests: the rounds then read a few bytes for each row.
//!
//! In a round, a user keeps the item of rank r (counted from 0) if fewer than D0 of the r items before it are still
//! there. Only candidates are ever released, so only they can have been removed. Hence an item that has D0 items before
//! it that are no candidates is never kept. Neither is any later item.

use arrow_array::RecordBatch;

use super::batcher::one_thread;
use super::candidates::Candidates;
use super::gather::OnUsers;
use crate::Result;
use crate::accounting::L0Bound;
use crate::bounding::BoundedContributions;
use crate::contributions::{Contributions, Vocabulary};
use crate::exchange::wire::{PartitionedValues, PrunedItem, PrunedWriter};
use crate::numeric::widths::codes;
use crate::random::{Digest, ReleaseKey};

/// The stage that prunes users.
#[derive(Debug)]
pub struct Prune {
    bound: L0Bound,
    key: ReleaseKey,
    candidates: Option<Candidates>,
}

impl Prune {
    /// Without `candidates` every item may be released.
    pub(crate) fn new(bound: L0Bound, key: ReleaseKey, candidates: Option<Candidates>) -> Self {
        Self { bound, key, candidates }
    }
}

impl OnUsers for Prune {
    /// The value goes under the last of its partitions: where it is makes no difference to the rounds.
    fn run(&self, last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let control = one_thread();
        let mut bounded = BoundedContributions::new(contributions, self.bound, &self.key, &control)?;
        bounded.order_all(&control)?;
        let mut pruner = Pruner::new(&bounded, self.candidates.as_ref());
        (0..bounded.users()).for_each(|user| pruner.add_user(bounded.all_items(user)));
        let mut made = PartitionedValues::default();
        made.push(last, pruner.writer.finish());
        made.into_batches()
    }
}

/// Prunes users one by one.
struct Pruner {
    /// The most items that a user keeps.
    bound: usize,
    /// The place in the dictionary of each code; `NOWHERE` for items that no round can release.
    places: Vec<u32>,
    writer: PrunedWriter,
}

/// The place of an item that is not in the dictionary.
const NOWHERE: u32 = u32::MAX;

impl Pruner {
    fn new(bounded: &BoundedContributions, candidates: Option<&Candidates>) -> Self {
        let (places, dictionary) = dictionary(bounded.vocabulary(), candidates);
        Self { bound: bounded.bound() as usize, places, writer: PrunedWriter::new(dictionary) }
    }

    /// Add a user with all of its items. Those of a user above the bound are in order of priority.
    fn add_user(&mut self, items: &[u32]) {
        let candidates = items.iter().enumerate().filter(|(_, item)| self.places[**item as usize] != NOWHERE);
        // The n-th candidate has n candidates before it, and rank - n other items, which never go.
        let kept = candidates.enumerate().take_while(|(n, (rank, _))| rank - n < self.bound);
        let kept: Vec<PrunedItem> = kept
            .map(|(_, (rank, item))| PrunedItem {
                place: self.places[*item as usize] as usize,
                rank: rank as u64,
            })
            .collect();
        if !kept.is_empty() {
            self.writer.add_user(items.len(), self.bound, &kept);
        }
    }
}

/// The candidates, each with the most users that it can have, and the place of each code among them. Without candidates
/// these are all items, with 0 users.
fn dictionary(vocabulary: &Vocabulary, candidates: Option<&Candidates>) -> (Vec<u32>, Vec<(Digest, u32)>) {
    let digests = vocabulary.digests_from(0..vocabulary.code_bound());
    let most_users =
        candidates.map_or_else(|| vec![Some(0); digests.len()], |candidates| candidates.most_users(&digests));
    let (mut places, mut dictionary) = (vec![NOWHERE; digests.len()], Vec::new());
    for ((place, item), users) in places.iter_mut().zip(digests).zip(most_users) {
        if let Some(users) = users {
            *place = codes(dictionary.len());
            dictionary.push((item, users));
        }
    }
    (places, dictionary)
}
