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

use super::candidates::Candidates;
use super::partition::Partition;
use super::sizes::Sizes;
use crate::Result;
use crate::accounting::L0Bound;
use crate::bounding::Priorities;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    ByDigest, PartitionRuns, PartitionedValues, PrunedItem, PrunedWriter, partitioned_values,
};
use crate::random::{CodedWords, Digest, ReleaseKey};

/// The stage that prunes users.
///
/// # Contract
/// All rows of a partition come one after the other in one task. So each user is pruned with all of its items.
#[derive(Debug)]
pub struct Prune {
    pruner: Pruner,
    partition: Partition,
    runs: PartitionRuns,
    /// Rows of users since the last value, and how many of them make a value. The more rows, the more users of an item
    /// meet before anything moves.
    rows: usize,
    most: usize,
}

impl Prune {
    pub(crate) fn new(bound: L0Bound, key: &ReleaseKey, candidates: Candidates, sizes: Sizes) -> Self {
        Self {
            pruner: Pruner::new(bound, key, candidates),
            partition: Partition::new(key),
            runs: PartitionRuns::default(),
            rows: 0,
            most: sizes.rows,
        }
    }

    /// Prune the users of the partition that has ended.
    fn end_partition(&mut self) -> Result<()> {
        self.rows += self.partition.rows();
        self.pruner.add_partition(&mut self.partition)?;
        self.partition.clear();
        Ok(())
    }

    /// Hand out all users so far. The value goes under the last of their partitions: where it is makes no difference to
    /// the rounds.
    fn hand_out(&mut self, last: Option<i32>, made: &mut PartitionedValues) {
        self.rows = 0;
        if let (Some(last), Some(packed)) = (last, self.pruner.finish()) {
            made.push(last, packed);
        }
    }
}

impl Stage for Prune {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = PartitionedValues::default();
        for (partition, packed) in partitioned_values(&batch)? {
            let last = self.runs.current();
            if self.runs.is_next(partition)? {
                self.end_partition()?;
                if self.rows >= self.most {
                    self.hand_out(last, &mut made);
                }
            }
            self.partition.push(packed)?;
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let mut made = PartitionedValues::default();
        self.end_partition()?;
        self.hand_out(self.runs.current(), &mut made);
        made.into_batches()
    }
}

/// Prunes users one by one.
#[derive(Debug)]
struct Pruner {
    /// The most items that a user keeps.
    bound: usize,
    priorities: Priorities,
    candidates: Candidates,
    writer: PrunedWriter,
    /// The place in the dictionary of the value of each item that is there.
    places: ByDigest<u32>,
    /// The same for each place in a partition; `NOWHERE` for items that no round can release.
    known: Vec<u32>,
    kept: Vec<PrunedItem>,
}

/// The place of an item that is not in the dictionary.
const NOWHERE: u32 = u32::MAX;

impl Pruner {
    fn new(bound: L0Bound, key: &ReleaseKey, candidates: Candidates) -> Self {
        Self {
            bound: bound.get() as usize,
            priorities: Priorities::new(key),
            candidates,
            writer: PrunedWriter::default(),
            places: ByDigest::default(),
            known: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Add the users of a partition.
    fn add_partition(&mut self, partition: &mut Partition) -> Result<()> {
        self.look_up(&partition.items);
        partition.each_user(|items, user, places, keyed| {
            self.add_user((items, user, places), keyed);
            Ok(())
        })
    }

    /// Find the places of these items in the dictionary.
    fn look_up(&mut self, items: &[Digest]) {
        let most_users = self.candidates.most_users(items);
        let Self { places, writer, known, .. } = self;
        known.clear();
        known.extend(items.iter().zip(most_users).map(|(&item, users)| {
            let place = |users| *places.entry(item).or_insert_with(|| writer.add_item(item, users));
            users.map_or(NOWHERE, place)
        }));
    }

    /// Add a user with the places of all of its items.
    fn add_user(&mut self, (items, user, places): (&[Digest], Digest, &mut [u32]), keyed: &mut CodedWords) {
        let Self { bound, known, .. } = self;
        if places.iter().all(|place| known[*place as usize] == NOWHERE) {
            return;
        }
        if places.len() > *bound {
            let digest = |place| items[place as usize];
            self.priorities.order(user, places, digest, usize::MAX, keyed);
        }
        let known = places.iter().map(|place| known[*place as usize]);
        let candidates = (0..).zip(known).filter(|(_, place)| *place != NOWHERE);
        // The n-th candidate has n candidates before it, and rank - n other items, which never go.
        let kept = candidates.enumerate().take_while(|(n, (rank, _))| rank - n < *bound);
        self.kept.clear();
        self.kept
            .extend(kept.map(|(_, (rank, place))| PrunedItem { place: place as usize, rank: rank as u64 }));
        if !self.kept.is_empty() {
            self.writer.add_user(places.len(), *bound, &self.kept);
        }
    }

    /// The users since the last time as a packed value; `None` if there are none.
    fn finish(&mut self) -> Option<Vec<u8>> {
        self.places.clear();
        std::mem::take(&mut self.writer).finish()
    }
}
