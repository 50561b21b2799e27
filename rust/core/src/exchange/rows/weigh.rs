//! Pruned contributions become the weights of one round, added up in the task and sent to the driver.

use arrow_array::RecordBatch;

use super::candidates::can_release;
use super::sizes::Sizes;
use crate::Result;
use crate::accounting::L0Bound;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    PrunedItem, PrunedUsers, ReleasedSet, add_up, pack_for_driver, partitioned_values,
};
use crate::numeric::widths::{clipped, index};
use crate::random::{Digest, Words};
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
    fn weigh(&mut self, packed: &[u8]) -> Result<()> {
        let users = PrunedUsers::unpack(packed)?;
        let removed: Vec<bool> =
            users.dictionary.iter().map(|(item, _)| self.released.contains(*item)).collect();
        let mut sums = vec![0_u64; removed.len()];
        let (bound, weights) = (u64::from(self.bound), &mut self.weights);
        users.each_user(self.bound, |items, kept| {
            let left = items - kept.iter().filter(|item| removed[item.place]).count() as u64;
            let weight = weights.of(left.min(bound));
            let mut removed_before = 0;
            for &PrunedItem { place, rank } in kept {
                if removed[place] {
                    removed_before += 1;
                } else if rank - removed_before < bound {
                    sums[place] = sums[place].saturating_add(weight);
                }
            }
        })?;
        self.keep_possible(&users.dictionary, &sums);
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

/// The weight that a user gives to each of its k items, as far as it was asked for.
#[derive(Debug)]
pub(crate) struct Weights {
    round: Round,
    known: Vec<u64>,
}

impl Weights {
    pub(crate) fn new(round: &Round) -> Self {
        Self { round: round.clone(), known: Vec::new() }
    }

    /// The weight for a user of so many items, of which it keeps all.
    pub(crate) fn of(&mut self, items: u64) -> u64 {
        let at = index(items);
        for k in self.known.len()..=at {
            // Clipping is safe: users of more items give less to each.
            let k = clipped(k);
            self.known.push(self.round.weighting.weight_in_quanta(k, self.round.rule.quantum()));
        }
        self.known[at]
    }
}
