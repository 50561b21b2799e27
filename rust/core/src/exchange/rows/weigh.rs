//! Pruned contributions become the weights of one round, added up in the task and sent to the driver.

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::random::{Digest, Words};
use dpsel_rows::contributions::ItemCode;

use super::candidates::can_release;
use super::pruned::{CandidateSums, PackedPruned};
use super::sizes::Sizes;
use super::weights::Weights;
use crate::bounding::ItemSet;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{ReleasedSet, add_up, pack_for_driver, partitioned_values, take_dictionary};
use crate::rounds::{Decider, Round};

/// The stage that weighs a round.
#[derive(Debug)]
pub struct Weigh {
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
        bound: L0Bound,
        round: &Round,
        (decider, words): (Decider, Words),
        released: ReleasedSet,
        sizes: Sizes,
    ) -> Self {
        let (weights, most) = (Weights::new(round), sizes.weights);
        let (bound, sums) = (bound.get(), Vec::new());
        Self { bound, released, decider, words, weights, most, full: most, sums }
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
            if sum > 0 && can_release(&self.decider, users, word) {
                self.sums.push((item, sum));
            }
        }
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
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        add_up(&mut self.sums);
        pack_for_driver(&std::mem::take(&mut self.sums)).into_batches()
    }
}
