//! The rounds, on what is in scratch.
//!
//! What fits into memory by code goes through `coded` and `scored`. If it does not fit, the stages and their order are
//! those of Spark (`spark/_dataflow.py`).

use std::sync::Arc;

use super::census::frequent;
use super::divide::finer;
use super::memory::Memory;
use super::numbering::Hashes;
use super::output::{Collected, OfSeveralUsers, Output};
use super::pruned::Coded;
use super::stages::{Stages, largest, parts};
use super::way::Way;
use crate::contributions::RowOrder;
use crate::exchange::{ExchangeJob, OfMessages, OfStates, Packed, ReleasedSet, UserCounts};
use crate::scratch::{Scratch, Spool, Stored};
use crate::{Error, Result};

/// Bytes that the engine holds for each byte of packed decisions or counts: they are there twice while they are put
/// together, and once more as a table.
const HELD: u64 = 4;
/// Bytes of a user count in memory: in the list of a thread and in the table.
const COUNTED: u64 = 24;
/// So many times the frequent items that can have codes, their users are counted without codes.
const FREQUENT: usize = 2;

/// What needs too much memory, and how much it needs.
const SHARED: &str = "holding the weights of items of several users, which take 600 bytes of the limit each";

/// The rounds of one release.
#[derive(Clone, Copy)]
pub(super) struct Rounds<'a> {
    pub(super) job: &'a ExchangeJob,
    pub(super) stages: Stages<'a>,
    pub(super) scratch: &'a Scratch,
}

impl Rounds<'_> {
    /// The decisions of all rounds. The rows are freed once they are pruned, unless the caller needs them still.
    ///
    /// # Errors
    /// Those of scratch and of the stages; a memory limit; an interruption.
    pub(super) fn decided(
        &self,
        contributions: Arc<Stored<i32>>,
        counts: Option<Stored<i32>>,
        order: RowOrder,
    ) -> Result<Packed> {
        let control = self.stages.control;
        let before = control.held_memory();
        let decided = self.by_their_way(contributions, counts, order)?;
        // User counts and states are freed, and the decisions stay.
        let stay = before + decided.bytes().len() as u64 * HELD;
        control.release_memory(control.held_memory().saturating_sub(stay));
        Ok(decided)
    }

    fn by_their_way(
        &self,
        contributions: Arc<Stored<i32>>,
        counts: Option<Stored<i32>>,
        order: RowOrder,
    ) -> Result<Packed> {
        let way = Way::of(&self.job.spec().calibration)?;
        match way.ok_or(Error::Internal("the rounds do not run on the disk"))? {
            Way::Scored => self.scored(contributions, counts),
            Way::Pieces => self.in_pieces(contributions, counts),
            Way::Ordered => {
                let shared = self.shared(&contributions, counts)?;
                self.ordered(contributions, &shared, &order.into())
            }
            Way::Adaptive => self.adaptive(&contributions, &self.shared(&contributions, counts)?),
        }
    }

    /// The numbers of users of items with more than one, whose weights have to fit into memory.
    fn shared(&self, contributions: &Stored<i32>, counts: Option<Stored<i32>>) -> Result<UserCounts> {
        let counts = counts.ok_or(Error::Internal("rounds with states need user counts"))?;
        let memory = self.stages.memory;
        let mut users = self.counts_of_frequent(&counts, 1, memory.shared)?;
        drop(counts);
        if users.is_none() {
            // They were upper bounds: a user whose rows come at different times was counted several times.
            users = self.shared_exactly(contributions)?;
        }
        self.stages.control.end_phase();
        let users = users.ok_or(Error::MemoryLimit { limit: memory.limit, stage: SHARED })?;
        Ok(UserCounts::new(1, users))
    }

    /// The hashes of items with more than one user, and their users; `None` if their weights do not fit into memory.
    fn shared_exactly(&self, contributions: &Stored<i32>) -> Result<Option<Vec<(u32, u32)>>> {
        let (stages, counts) = (self.stages, Spool::<i32>::new(self.scratch)?);
        let count = || self.job.count(stages.memory.partitions, None, false);
        stages.run(contributions, count, || stages.writer(&counts))?;
        let several = OfSeveralUsers::new(stages.memory.shared);
        stages.run(&counts.stored(), || Ok(self.job.total(None)), || &several)?;
        let users = several.found();
        let bytes = users.as_ref().map_or(0, Vec::len) as u64 * COUNTED;
        stages.control.charge_memory(bytes, "holding the user counts of frequent items")?;
        Ok(users)
    }

    /// The decisions of rounds whose users are weighed in parts, and whose items are decided one by one.
    fn in_pieces(&self, contributions: Arc<Stored<i32>>, counts: Option<Stored<i32>>) -> Result<Packed> {
        let (above, most) = (self.job.frequent_above(), self.stages.memory.frequent.saturating_mul(FREQUENT));
        let mut counted = match counts.filter(|_| above >= 1) {
            Some(counts) => self.counts_of_frequent(&counts, above, most)?,
            None => None,
        };
        self.stages.control.end_phase();
        if let Some(users) = counted.take_if(|users| users.len() <= self.stages.memory.frequent) {
            match self.coded(&contributions, users)? {
                Coded::Pruned(pruned) => {
                    drop(contributions);
                    self.stages.control.end_phase();
                    return self.on_candidates(&pruned);
                }
                Coded::TooMany(users) => counted = Some(users),
            }
        }
        let frequent = counted.map(|users| UserCounts::new(above, users));
        match self.finer(&contributions)? {
            None => self.weighed_in_pieces(contributions, frequent.as_ref()),
            Some((finer, stages)) => {
                drop(contributions);
                Rounds { stages, ..*self }.weighed_in_pieces(finer.into(), frequent.as_ref())
            }
        }
    }

    /// Partitions that a stage can gather, if these are too large.
    fn finer(&self, contributions: &Stored<i32>) -> Result<Option<(Stored<i32>, Stages<'_>)>> {
        finer(contributions, (&RowOrder::Any, Memory::divided), self.job.key(), self.stages, self.scratch)
    }

    /// As [`Rounds::in_pieces`], where the weights of a round go to the items by way of the disk.
    fn weighed_in_pieces(
        &self,
        contributions: Arc<Stored<i32>>,
        frequent: Option<&UserCounts>,
    ) -> Result<Packed> {
        let pruned = self.pruned(contributions, frequent)?;
        let mut released = Packed::default();
        for round in (0_u32..).take(self.job.spec().calibration.rounds.len()) {
            let before = ReleasedSet::unpack(&ReleasedSet::pack(released.bytes(), None)?)?;
            let weights = Spool::<i32>::new(self.scratch)?;
            let weigh = || self.job.weigh(Some(self.stages.memory.partitions), round, before.clone());
            self.stages.run(&pruned, weigh, || self.stages.writer(&weights))?;
            let decided = Collected::default();
            self.stages.run(&weights.stored(), || self.job.decide(round), || &decided)?;
            released = released.with(&self.held(decided)?);
            self.stages.control.end_phase();
        }
        Ok(released)
    }

    /// The decisions of the last one of scored rounds.
    fn scored(&self, contributions: Arc<Stored<i32>>, counts: Option<Stored<i32>>) -> Result<Packed> {
        let counts = counts.ok_or(Error::Internal("rounds with states need user counts"))?;
        let hashes = self.shared_hashes(&counts, largest(&parts(&contributions)))?;
        drop(counts);
        self.stages.control.end_phase();
        if let Some(hashes) = hashes {
            return self.scored_in_blocks(contributions, hashes);
        }
        self.stages.control.end_phase();
        match self.finer(&contributions)? {
            None => self.scored_by_messages(&contributions),
            Some((finer, stages)) => {
                drop(contributions);
                Rounds { stages, ..*self }.scored_by_messages(&finer)
            }
        }
    }

    /// The same where the states of items do not fit into memory. What a round weighs goes to the items by way of the
    /// disk, and their states go back to the users.
    fn scored_by_messages(&self, contributions: &Stored<i32>) -> Result<Packed> {
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

    /// The number of users of each wanted item, or of all of them, or the `most` largest.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn counted(
        &self,
        contributions: &Stored<i32>,
        wanted: Option<&ReleasedSet>,
        bounded: bool,
        most: Option<u32>,
    ) -> Result<Packed> {
        let total = Collected::default();
        self.total(contributions, (wanted, bounded, most), || &total)?;
        self.held(total)
    }

    /// As [`Rounds::counted`], with an output for each thread.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn total<O: Output>(
        &self,
        contributions: &Stored<i32>,
        (wanted, bounded, most): (Option<&ReleasedSet>, bool, Option<u32>),
        output: impl Fn() -> O + Sync,
    ) -> Result<()> {
        let (stages, counts) = (self.stages, Spool::<i32>::new(self.scratch)?);
        let count = || self.job.count(stages.memory.partitions, wanted.cloned(), bounded);
        stages.run(contributions, count, || stages.writer(&counts))?;
        stages.control.end_phase();
        stages.run(&counts.stored(), || Ok(self.job.total(most)), output)?;
        stages.control.end_phase();
        Ok(())
    }

    /// The hashes of items with more than one user; none if these items do not fit into memory beside a partition of this
    /// many bytes for each thread.
    fn shared_hashes(&self, counts: &Stored<i32>, largest: u64) -> Result<Option<Hashes>> {
        let most = self.stages.memory.numbered_beside(largest);
        Ok(self.counts_of_frequent(counts, 1, most)?.map(|counts| Hashes::new(counts).0))
    }

    /// The hashes of items with more than `above` users, and their users; `None` if there are more than `most`.
    fn counts_of_frequent(
        &self,
        counts: &Stored<i32>,
        above: u32,
        most: usize,
    ) -> Result<Option<Vec<(u32, u32)>>> {
        let frequent = frequent(counts, (above, most), self.stages)?;
        let bytes = frequent.as_ref().map_or(0, Vec::len) as u64 * COUNTED;
        self.stages.control.charge_memory(bytes, "holding the user counts of frequent items")?;
        Ok(frequent)
    }

    /// Decisions, which stay in memory.
    fn held(&self, decided: Collected) -> Result<Packed> {
        self.held_bytes(decided.packed().bytes().to_vec())
    }

    /// Packed decisions, which stay in memory.
    pub(super) fn held_bytes(&self, decided: Vec<u8>) -> Result<Packed> {
        let bytes = decided.len() as u64 * HELD;
        self.stages.control.charge_memory(bytes, "holding the released items")?;
        Ok(decided.into())
    }

    /// The part of the contributions that the rounds need.
    fn pruned(&self, contributions: Arc<Stored<i32>>, frequent: Option<&UserCounts>) -> Result<Stored<i32>> {
        let pruned = Spool::<i32>::new(self.scratch)?;
        let prune = || self.job.prune(frequent.cloned());
        self.stages.run(&contributions, prune, || self.stages.writer(&pruned))?;
        self.stages.control.end_phase();
        drop(contributions);
        Ok(pruned.stored())
    }
}
