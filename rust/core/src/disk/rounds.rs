//! The rounds, on what is in scratch. The stages and their order are those of Spark (`spark/_dataflow.py`).

use super::stages::{Collected, Stages};
use crate::Result;
use crate::exchange::{ExchangeJob, OfMessages, OfStates, Packed, ReleasedSet, UserCounts};
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
        if self.job.is_steered() {
            return self.steered(contributions, counts);
        }
        let pruned = self.pruned(contributions, counts)?;
        let mut released = Packed::default();
        for round in (0_u32..).take(self.job.spec().calibration.rounds.len()) {
            let before = ReleasedSet::unpack(&ReleasedSet::pack(released.bytes(), None)?)?;
            let weights = Spool::<i32>::new(self.scratch)?;
            let weigh = || self.job.weigh(self.stages.memory.partitions, round, before.clone());
            self.stages.run(&pruned, weigh, || self.stages.writer(&weights))?;
            let decided = Collected::default();
            self.stages.run(&weights.stored(), || self.job.decide(round), || &decided)?;
            released = released.with(&self.held(decided)?);
            self.stages.control.end_phase();
        }
        Ok(released)
    }

    /// The decisions of the last one of scored rounds.
    fn steered(&self, contributions: Stored<i32>, counts: Option<Stored<i32>>) -> Result<Packed> {
        let shared = counts.map(|counts| self.frequent(&counts, 1)).transpose()?;
        self.stages.control.end_phase();
        if let Some(users) = shared.filter(|users| users.frequent() <= self.stages.memory.shared) {
            return self.scored(contributions, &users);
        }
        self.stages.control.end_phase();
        self.steered_by_messages(&contributions)
    }

    /// The same where the states of items do not fit into memory. What a round weighs goes to the items by way of the
    /// disk, and their states go back to the users.
    fn steered_by_messages(&self, contributions: &Stored<i32>) -> Result<Packed> {
        let (stages, rounds) = (self.stages, self.job.spec().calibration.rounds.len());
        let (mut known, decided) = (None, Collected::default());
        for (round, left) in (0_u32..).zip((0..rounds).rev()) {
            let messages = self.weighed(contributions, known.take(), round)?;
            let steer = || self.job.steer(round);
            if left == 0 {
                stages.run(&messages, steer, || &decided)?;
            } else {
                let steered = Spool::new(self.scratch)?;
                stages.run(&messages, steer, || stages.writer(&steered))?;
                known = Some(steered.stored());
            }
            stages.control.end_phase();
        }
        self.held(decided)
    }

    /// The messages of a scored round. States of items are there after the first one.
    fn weighed(
        &self,
        contributions: &Stored<i32>,
        known: Option<Stored<OfStates>>,
        round: u32,
    ) -> Result<Stored<OfMessages>> {
        let (stages, messages) = (self.stages, Spool::new(self.scratch)?);
        let reweight = || self.job.reweight(stages.memory.partitions, round);
        match known {
            None => stages.run(contributions, reweight, || stages.writer(&messages))?,
            Some(known) => {
                stages.run_by_partition(contributions, &known, reweight, || stages.writer(&messages))?;
            }
        }
        Ok(messages.stored())
    }

    /// The numbers of users of items with more than `above`.
    fn frequent(&self, counts: &Stored<i32>, above: u32) -> Result<UserCounts> {
        let frequent = Collected::default();
        self.stages.run(counts, || Ok(self.job.frequent_items(above)), || &frequent)?;
        let frequent = frequent.packed();
        let bytes = frequent.bytes().len() as u64 * HELD;
        self.stages.control.charge_memory(bytes, "holding the user counts of frequent items")?;
        UserCounts::unpack(above, frequent.bytes())
    }

    /// Decisions, which stay in memory.
    fn held(&self, decided: Collected) -> Result<Packed> {
        let decided = decided.packed();
        let bytes = decided.bytes().len() as u64 * HELD;
        self.stages.control.charge_memory(bytes, "holding the released items")?;
        Ok(decided)
    }

    /// The part of the contributions that the rounds need.
    fn pruned(&self, contributions: Stored<i32>, counts: Option<Stored<i32>>) -> Result<Stored<i32>> {
        let above = self.job.frequent_above();
        let frequent =
            counts.filter(|_| above >= 1).map(|counts| self.frequent(&counts, above)).transpose()?;
        self.stages.control.end_phase();
        let pruned = Spool::<i32>::new(self.scratch)?;
        let prune = || self.job.prune(frequent.clone());
        self.stages.run(&contributions, prune, || self.stages.writer(&pruned))?;
        self.stages.control.end_phase();
        drop(contributions);
        Ok(pruned.stored())
    }
}
