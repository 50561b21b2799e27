//! The numbers of users or rows of released items, from rows in scratch.

use dpsel_core::counting::{CountNoise, RestSums};
use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use dpsel_rows::scratch::{Spool, Stored};

use super::job::Rounds;
use crate::disk::threads::{Gathered, Stages};
use crate::exchange::{Decisions, ExchangeJob, ReleasedSet};

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
        let (stages, job) = self.counting(items)?;
        let (counted, sums) = (ReleasedSet::list(items), Spool::new(self.scratch)?);
        let count = || job.count_released(stages.memory.buckets, counted.clone());
        stages.run(held, count, || stages.writer(&sums))?;
        let collected = Gathered::default();
        stages.run(&sums.stored(), || job.noisy_counts(), || &collected)?;
        job.numbers_of(items, &Decisions::unpack(collected.packed().bytes())?, noise)
    }
    /// What these items cover of `held`, as above.
    ///
    /// # Errors
    /// As [`Rounds::noisy_numbers`].
    pub(in crate::disk) fn rest(&self, held: &Stored, items: &[Digest]) -> Result<RestSums> {
        let (stages, job) = self.counting(items)?;
        let (listed, collected) = (ReleasedSet::list(items), Gathered::default());
        stages.run(held, || job.count_rest(listed.clone()), || &collected)?;
        job.rest_of(collected.packed().bytes())
    }

    /// The stages and the job that count so many items, in the memory that is left.
    pub(in crate::disk) fn counting(&self, items: &[Digest]) -> Result<(Stages<'_>, ExchangeJob)> {
        let control = self.stages.control;
        control.charge_memory(items.len() as u64 * BYTES, "counting the users or rows of released items")?;
        // Rounds gave their memory back, but for the released items.
        let memory = self.stages.memory.beside(control.held_memory());
        Ok((Stages { memory, control }, self.job.clone().with_rows_together(memory.rows)))
    }
}
