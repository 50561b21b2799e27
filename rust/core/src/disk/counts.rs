//! The numbers of users or rows of released items, from rows in scratch.

use super::output::Collected;
use super::rounds::Rounds;
use super::stages::Stages;
use crate::counting::CountNoise;
use crate::exchange::{Decisions, ReleasedSet};
use crate::random::Digest;
use crate::scratch::{Spool, Stored};
use crate::{Error, Result};

/// Bytes for each counted item: in the set, with its sum and with its noisy number.
const BYTES: u64 = 96;

impl Rounds<'_> {
    /// The noisy numbers of these items. `held` has all rows of every user that count.
    ///
    /// # Errors
    /// Those of scratch; the limit of memory; an interruption.
    pub(super) fn noisy_counts(&self, held: &Stored, items: &[Digest]) -> Result<Decisions> {
        let (control, scratch) = (self.stages.control, self.scratch);
        let stage = "counting the users or rows of released items";
        control.charge_memory(items.len() as u64 * BYTES, stage)?;
        // Rounds gave their memory back, but for the released items.
        let memory = self.stages.memory.beside(control.held_memory());
        let (stages, job) = (Stages { memory, control }, self.job.clone().with_sizes(memory.sizes));
        let counted = ReleasedSet::pack(&Decisions::pack(items.iter().map(|item| (*item, 0))), None)?;
        let counted = ReleasedSet::unpack(&counted)?;
        let sums = Spool::new(scratch)?;
        let count = || job.count_released(stages.memory.partitions, counted.clone());
        stages.run(held, count, || stages.writer(&sums))?;
        let collected = Collected::default();
        stages.run(&sums.stored(), || job.noisy_counts(), || &collected)?;
        let mut packed = collected.packed().bytes().to_vec();
        let found = Decisions::unpack(&packed)?;
        // A public item may have no user. It has noise all the same.
        let noise: CountNoise = job.spec().calibration.counts.ok_or(Error::Internal("no noise of counts"))?;
        let without: Vec<Digest> = items.iter().copied().filter(|item| !found.contains(*item)).collect();
        let drawn = noise.noisy_counts(without.iter().map(|item| (*item, 0)), job.key());
        packed.extend(Decisions::pack(without.into_iter().zip(drawn)));
        Decisions::unpack(&packed)
    }
}
