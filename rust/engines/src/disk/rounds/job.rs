//! The rounds, on what is in scratch: plain ones by `plain`, and scored ones by `scored`.

use std::sync::Arc;

use dpsel_exact::{Error, Result};
use dpsel_rows::scratch::{Scratch, Spool, Stored};

use super::candidates::BYTES as FREQUENT;
use super::frequent_items::BYTES as NUMBERED;
use crate::disk::reading::frequent;
use crate::disk::threads::{Gathered, Output, Stages, largest, parts};
use crate::exchange::{ExchangeJob, Packed, ReleasedSet};

/// Bytes that the engine holds for each byte of packed decisions or counts: they are there twice while they are put
/// together, and once more as a table.
const HELD: u64 = 4;
/// Bytes of a user count in memory: in the list of a thread and in the table.
const COUNTED: u64 = 24;
/// Bytes of what stands above a shared item, where some do.
const LINED: usize = 2 * size_of::<(u32, u32)>() * 2 + 4;

/// What rounds hold in memory for each limit, and what to do instead of raising it.
pub(super) type Holding = (&'static str, &'static str);
pub(super) const PLAIN: Holding = ("the items that may be released", "run it with dpsel.spark");
const SCORED: Holding =
    ("the items of several users", "pass mechanism=dpsel.Sips(), which holds fewer items");

/// The rounds of one release.
pub(in crate::disk) struct Rounds<'a> {
    pub(in crate::disk) job: ExchangeJob,
    pub(in crate::disk) stages: Stages<'a>,
    pub(in crate::disk) scratch: &'a Scratch,
}

impl Rounds<'_> {
    /// The decisions of all rounds, given the user counts. The rows are freed once they are pruned, unless the caller needs
    /// them still.
    ///
    /// # Errors
    /// Those of scratch and of the stages; a memory limit; an interruption.
    pub(in crate::disk) fn decided(
        &self,
        contributions: Arc<Stored>,
        counts: Option<Stored>,
    ) -> Result<Packed> {
        let control = self.stages.control;
        let before = control.held_memory();
        let counts = counts.ok_or(Error::Internal("rounds on the disk need user counts"))?;
        let is_scored = self.job.is_steered();
        let block = if is_scored { self.stages.memory.block_bytes() } else { 0 };
        let room = self.stages.memory.coded_beside(largest(&parts(&contributions)), block);
        let lined = if self.job.spec().calibration.descent { LINED } else { 0 };
        let (above, bytes, held) = if is_scored {
            (1, NUMBERED + lined, SCORED)
        } else {
            (self.job.frequent_above(), FREQUENT, PLAIN)
        };
        let found = self.counted_above(&counts, above, (room, bytes, held))?;
        drop(counts);
        control.end_phase();
        let decided = if is_scored {
            self.scored(contributions, found)?
        } else {
            self.plain(contributions, found, room)?
        };
        // User counts and states are freed, and the decisions stay.
        let stay = before + decided.bytes().len() as u64 * HELD;
        control.release_memory(control.held_memory().saturating_sub(stay));
        Ok(decided)
    }

    /// The hashes of items with more than `above` users, and their users, if there is room for so many bytes of each.
    fn counted_above(
        &self,
        counts: &Stored,
        above: u32,
        (room, bytes, held): (usize, usize, Holding),
    ) -> Result<Vec<(u32, u32)>> {
        let Stages { memory, control } = self.stages;
        let found = frequent(counts, (above, room / bytes), self.stages)?;
        let found = found.map_err(|number| memory.exceeded(number.saturating_mul(bytes), held))?;
        control.charge_memory(found.len() as u64 * COUNTED, "holding the user counts of frequent items")?;
        Ok(found)
    }

    /// The number of users of each wanted item, or of all of them, or the `most` largest.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(in crate::disk) fn counted(
        &self,
        contributions: &Stored,
        wanted: Option<&ReleasedSet>,
        bounded: bool,
        most: Option<u32>,
    ) -> Result<Packed> {
        let total = Gathered::default();
        self.total(contributions, (wanted, bounded, most), || &total)?;
        self.held(total.packed())
    }

    /// As [`Rounds::counted`], with an output for each thread.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(in crate::disk) fn total<O: Output>(
        &self,
        contributions: &Stored,
        (wanted, bounded, most): (Option<&ReleasedSet>, bool, Option<u32>),
        output: impl Fn() -> O + Sync,
    ) -> Result<()> {
        let (stages, counts) = (self.stages, Spool::new(self.scratch)?);
        let count = || self.job.count(stages.memory.buckets, wanted.cloned(), bounded);
        stages.run(contributions, count, || stages.writer(&counts))?;
        stages.control.end_phase();
        stages.run(&counts.stored(), || Ok(self.job.total(most)), output)?;
        stages.control.end_phase();
        Ok(())
    }

    /// Packed decisions, which stay in memory.
    pub(super) fn held(&self, decided: Packed) -> Result<Packed> {
        let bytes = decided.bytes().len() as u64 * HELD;
        self.stages.control.charge_memory(bytes, "holding the released items")?;
        Ok(decided)
    }
}
