//! Pruned contributions become the weights of one round, added up in the task and sent by partition of items or to the
//! driver.

use arrow_array::RecordBatch;

use super::candidates::can_release;
use super::pruned::{CandidateSums, PackedPruned};
use super::sizes::Sizes;
use super::weights::Weights;
use crate::Result;
use crate::accounting::L0Bound;
use crate::bounding::ItemSet;
use crate::contributions::ItemCode;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    Partitions, ReleasedSet, add_up, pack_by_partition, pack_for_driver, partitioned_values, take_dictionary,
};
use crate::random::{Digest, Words};
use crate::rounds::{Decider, Round};

/// The stage that weighs a round.
#[derive(Debug)]
pub struct Weigh {
    /// The partitions of items; none if the weights go to the driver.
    partitions: Option<Partitions>,
    bound: u32,
    /// The items that earlier rounds released.
    released: ReleasedSet,
    decider: Decider,
    words: Words,
    weights: Weights,
    /// Sums that wait before they are added up: at first, and now. If hardly any go away, twice as many wait.
    most: usize,
    full: usize,
    sums: Vec<(Digest, u64)>,
}

impl Weigh {
    /// `decider` and `words` are the rule and the noise of the round. `released` has the items of the rounds before.
    pub(crate) fn new(
        partitions: Option<Partitions>,
        bound: L0Bound,
        round: &Round,
        (decider, words): (Decider, Words),
        released: ReleasedSet,
        sizes: Sizes,
    ) -> Self {
        let (weights, most) = (Weights::new(round), sizes.weights);
        let (bound, sums) = (bound.get(), Vec::new());
        Self { partitions, bound, released, decider, words, weights, most, full: most, sums }
    }

    /// Add the weights of items that the round can release.
    fn weigh(&mut self, mut packed: &[u8]) -> Result<()> {
        let dictionary = take_dictionary(&mut packed)?;
        let mut removed = ItemSet::new();
        let released = dictionary.iter().enumerate().filter(|(_, (item, _))| self.released.contains(*item));
        released.for_each(|(place, _)| removed.insert(ItemCode::from_index(place)));
        let mut sums = CandidateSums::new(dictionary.len(), 0..dictionary.len());
        PackedPruned::of(packed)?.weigh(self.bound, &mut self.weights, &removed, &mut sums)?;
        self.keep_possible(&dictionary, &sums.of_range);
        Ok(())
    }

    /// Keep the sums of items that the round can release. A sum of 0 would only take up space on the way.
    fn keep_possible(&mut self, dictionary: &[(Digest, u32)], sums: &[u64]) {
        let digests: Vec<Digest> = dictionary.iter().map(|(item, _)| *item).collect();
        let mut drawn = vec![0; digests.len()];
        self.words.fill(&digests, &mut drawn);
        for ((&(item, users), &sum), word) in dictionary.iter().zip(sums).zip(drawn) {
            if sum > 0 && (users == 0 || can_release(&self.decider, users, word)) {
                self.sums.push((item, sum));
            }
        }
    }

    fn send(&mut self) -> Result<Vec<RecordBatch>> {
        add_up(&mut self.sums);
        let sums = std::mem::take(&mut self.sums);
        match self.partitions {
            Some(partitions) => pack_by_partition(sums, partitions),
            None => pack_for_driver(&sums),
        }
        .into_batches()
    }
}

impl Stage for Weigh {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (_, packed) in partitioned_values(&batch)? {
            self.weigh(packed)?;
            if self.sums.len() >= self.full {
                add_up(&mut self.sums);
                self.full = self.most.max(2 * self.sums.len());
            }
        }
        // The driver gets one sum of each item from each task.
        if self.partitions.is_none() || self.sums.len() < self.most / 2 {
            return Ok(Vec::new());
        }
        self.send()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.send()
    }
}
