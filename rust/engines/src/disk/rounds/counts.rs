//! The numbers of users or rows of released items, from rows in scratch.

use dpsel_core::counting::CountNoise;
use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use dpsel_rows::scratch::{Spool, Stored};

use super::job::Rounds;
use crate::disk::threads::{Gathered, Stages};
use crate::exchange::{Decisions, ReleasedSet};

/// Bytes for each counted item: in the set, with its sum and with its noisy number.
const BYTES: u64 = 96;

impl Rounds<'_> {
    /// The noisy numbers of these items, in their order. `held` has all rows of every user that count.
    ///
    /// # Errors
    /// Those of scratch; the limit of memory; an interruption.
    pub(in crate::disk) fn noisy_numbers(
        &self,
        held: &Stored,
        items: &[Digest],
        noise: &CountNoise,
    ) -> Result<Vec<i64>> {
        let (control, scratch) = (self.stages.control, self.scratch);
        let stage = "counting the users or rows of released items";
        control.charge_memory(items.len() as u64 * BYTES, stage)?;
        // Rounds gave their memory back, but for the released items.
        let memory = self.stages.memory.beside(control.held_memory());
        let (stages, job) = (Stages { memory, control }, self.job.clone().with_rows_together(memory.rows));
        let (counted, sums) = (ReleasedSet::list(items), Spool::new(scratch)?);
        let count = || job.count_released(stages.memory.buckets, counted.clone());
        stages.run(held, count, || stages.writer(&sums))?;
        let collected = Gathered::default();
        stages.run(&sums.stored(), || job.noisy_counts(), || &collected)?;
        job.numbers_of(items, &Decisions::unpack(collected.packed().bytes())?, noise)
    }
}
