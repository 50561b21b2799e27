//! The rounds, on what is in scratch. The stages and their order are those of Spark (`spark/_dataflow.py`).

use super::stages::{Collected, Stages};
use crate::Result;
use crate::exchange::{ExchangeJob, Packed, ReleasedSet, UserCounts};
use crate::scratch::{Scratch, Spool, Stored};

/// Bytes that the engine holds for each byte of packed decisions or counts: they are there twice while they are put
/// together, and once more as a table.
const HELD: u64 = 4;

/// The rounds of one release.
pub(super) struct Rounds<'a> {
    pub(super) job: &'a ExchangeJob,
    pub(super) stages: Stages<'a>,
    pub(super) scratch: &'a Scratch,
}

impl Rounds<'_> {
    /// The decisions of all rounds. The rows are freed once they are pruned.
    ///
    /// # Errors
    /// Those of scratch and of the stages; a memory limit; an interruption.
    pub(super) fn decided(&self, contributions: Stored<i32>, counts: Option<Stored<i32>>) -> Result<Packed> {
        let pruned = self.pruned(contributions, counts)?;
        let (mut released, control) = (Packed::default(), self.stages.control);
        for round in (0_u32..).take(self.job.spec().calibration.rounds.len()) {
            let before = ReleasedSet::unpack(&ReleasedSet::pack(released.bytes(), None)?)?;
            let weights = Spool::new(self.scratch)?;
            let weigh = || self.job.weigh(self.stages.memory.partitions, round, before.clone());
            self.stages.run(&pruned, weigh, || self.stages.writer(&weights))?;
            let decided = Collected::default();
            self.stages.run(&weights.stored(), || self.job.decide(round), || &decided)?;
            let decided = decided.packed();
            control.charge_memory(decided.bytes().len() as u64 * HELD, "holding the released items")?;
            released = released.with(&decided);
            control.end_phase();
        }
        Ok(released)
    }

    /// The part of the contributions that the rounds need.
    fn pruned(&self, contributions: Stored<i32>, counts: Option<Stored<i32>>) -> Result<Stored<i32>> {
        let above = self.job.frequent_above();
        let frequent = counts.map(|counts| {
            let frequent = Collected::default();
            self.stages.run(&counts, || Ok(self.job.frequent_items(above)), || &frequent)?;
            let frequent = frequent.packed();
            let bytes = frequent.bytes().len() as u64 * HELD;
            self.stages.control.charge_memory(bytes, "holding the user counts of frequent items")?;
            UserCounts::unpack(above, frequent.bytes())
        });
        let frequent = frequent.transpose()?;
        self.stages.control.end_phase();
        let pruned = Spool::new(self.scratch)?;
        let prune = || self.job.prune(frequent.clone());
        self.stages.run(&contributions, prune, || self.stages.writer(&pruned))?;
        self.stages.control.end_phase();
        drop(contributions);
        Ok(pruned.stored())
    }
}
