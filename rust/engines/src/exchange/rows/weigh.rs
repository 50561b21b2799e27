//! Pruned contributions become the weights of one round, added up in the task and sent to the driver.

use arrow_array::RecordBatch;
use dpsel_core::bounding::ItemSet;
use dpsel_core::rounds::{Deciding, Round};
use dpsel_exact::Result;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::random::Digest;
use dpsel_rows::contributions::ItemCode;

use super::pruned_users::{CandidateSums, PackedPruned};
use super::weights::Weights;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    BucketedValues, ReleasedSet, TO_DRIVER, add_up, bucketed_values, take_dictionary,
};

/// Weights that are added up before they are sent, which take up to about 120 bytes each. The more wait, the fewer move.
const MOST: usize = if cfg!(test) { 1 << 6 } else { 1 << 22 };

/// The stage that weighs a round.
#[derive(Debug)]
pub struct Weigh {
    bound: u32,
    /// The items that earlier rounds released.
    released: ReleasedSet,
    deciding: Deciding,
    weights: Weights,
    /// Sums that wait before they are added up. If hardly any go away, twice as many wait.
    full: usize,
    sums: Vec<(Digest, u64)>,
}

impl Weigh {
    /// `released` has the items of the rounds before.
    pub(crate) fn new(bound: L0Bound, round: &Round, deciding: Deciding, released: ReleasedSet) -> Self {
        let (bound, weights) = (bound.get(), Weights::new(round));
        Self { bound, released, deciding, weights, full: MOST, sums: Vec::new() }
    }

    /// Add the weights of items that the round can release.
    fn weigh(&mut self, mut packed: &[u8]) -> Result<()> {
        let dictionary = take_dictionary(&mut packed)?;
        let mut removed = ItemSet::default();
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
        let users = dictionary.iter().map(|(_, users)| *users);
        let Self { deciding, sums: kept, .. } = self;
        deciding.each_possible(&digests, users, |place| {
            if sums[place] > 0 {
                kept.push((digests[place], sums[place]));
            }
        });
    }
}

impl Stage for Weigh {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (_, packed) in bucketed_values(&batch)? {
            self.weigh(packed)?;
            if self.sums.len() >= self.full {
                add_up(&mut self.sums);
                self.full = MOST.max(2 * self.sums.len());
            }
        }
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        add_up(&mut self.sums);
        let mut made = BucketedValues::default();
        made.push_weights(TO_DRIVER, &std::mem::take(&mut self.sums));
        made.into_batches()
    }
}
