//! Plain rounds, which decide items one by one. The weights of all candidates are in memory.
//!
//! A candidate is an item that some round can release, as the user counts say. Users are read once, and pruned as on
//! Spark: what stays of a user is its number of items, and its candidates with their ranks. Candidates go by codes. So a
//! round reads a few bytes of each row, adds up weights in arrays and decides its items, as in memory. If the arrays of all
//! threads are too large, they hold a range of the candidates, and the round reads the users once for each range.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::candidates::{Coding, Met, most_candidates};
use super::numbering::Hashes;
use super::pruned::{Block, Columns, Pruned, Sums};
use super::rounds::{PLAIN, Rounds};
use super::stages::parts;
use crate::bounding::{ItemSet, Priorities};
use crate::contributions::ItemCode;
use crate::exchange::{Decisions, OnItems, Packed, Partition, Weights, checked_weight};
use crate::random::Digest;
use crate::rounds::Round;
use crate::scratch::{Spool, Stored};
use crate::{Error, Result};

/// Rows of a block, about.
const BLOCK_ROWS: usize = 1 << 15;
/// Items that are decided together.
const DECIDED: usize = 1 << 14;

impl Rounds<'_> {
    /// The decisions of all rounds, given the user counts of frequent items, and so much room for items.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn plain(
        &self,
        contributions: Arc<Stored>,
        frequent: Vec<(u32, u32)>,
        room: usize,
    ) -> Result<Packed> {
        let pruned = self.pruned(&contributions, frequent, room)?;
        drop(contributions);
        self.stages.control.end_phase();
        self.on_candidates(&pruned)
    }

    /// Prune all users.
    fn pruned(&self, contributions: &Stored, frequent: Vec<(u32, u32)>, room: usize) -> Result<Pruned> {
        let spec = self.job.spec();
        let bound = spec.bound.ok_or(Error::Internal("rounds without a bound"))?;
        let (hashes, users) = Hashes::new(frequent);
        let met = Met::new(users.len());
        let coding = Coding {
            bound,
            priorities: Priorities::new(self.job.key()),
            chances: self.job.chances()?,
            hashes,
            users: &users,
            above: self.job.frequent_above(),
            met: RwLock::new(met),
            most: most_candidates(room, users.len()),
            partitions: parts(contributions).len(),
            begun: AtomicUsize::new(0),
            needed: AtomicUsize::new(0),
        };
        let blocks = Spool::new(self.scratch)?;
        self.stages.each_partition(
            contributions,
            || (Pruner::new(self), self.stages.writer(&blocks)),
            |(pruner, writer), number, values| {
                if coding.needed.load(Ordering::Relaxed) > 0 {
                    return Ok(());
                }
                coding.begun.fetch_add(1, Ordering::Relaxed);
                pruner.partition.read(contributions, values, self.stages.control)?;
                pruner.run(&coding, |packed| writer.push(number, packed))
            },
            |(_, mut writer)| writer.flush(),
        )?;
        let needed = coding.needed.into_inner();
        if needed > 0 {
            return Err(self.stages.memory.exceeded(needed, PLAIN));
        }
        let met = coding.met.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Pruned { blocks: blocks.stored(), items: met.candidates, bound })
    }

    /// The decisions of all rounds on pruned users.
    fn on_candidates(&self, pruned: &Pruned) -> Result<Packed> {
        let mut removed = ItemSet::new();
        let mut released = Packed::default();
        for (number, round) in (0_u32..).zip(&self.job.spec().calibration.rounds) {
            let sums = self.weights(round, pruned, &removed)?;
            released =
                released.with(&self.held_bytes(self.decide(number, pruned, &sums, &mut removed)?)?);
            self.stages.control.end_phase();
        }
        Ok(released)
    }

    /// The weight of each candidate in a round. Users are read once for each range of candidates.
    fn weights(&self, round: &Round, pruned: &Pruned, removed: &ItemSet) -> Result<Vec<u64>> {
        let (items, summed) = (pruned.items.len(), self.stages.memory.summed);
        let all = Mutex::new(vec![0_u64; items]);
        for first in (0..items).step_by(summed) {
            let range = first..items.min(first + summed);
            self.stages.each_value(
                &pruned.blocks,
                || (Weights::new(round), Sums::new(items, range.clone())),
                |(weights, sums), _, packed| {
                    Columns::of(packed)?.weigh(pruned.bound.get(), weights, removed, sums)
                },
                |(_, sums)| {
                    sums.add_to(&mut all.lock().unwrap_or_else(PoisonError::into_inner));
                    Ok(())
                },
            )?;
        }
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decide all items of a round. Those that it releases are removed.
    fn decide(&self, number: u32, pruned: &Pruned, sums: &[u64], removed: &mut ItemSet) -> Result<Vec<u8>> {
        let (mut decide, mut decided) = (self.job.decide_items(number)?, Vec::new());
        sums.iter().try_for_each(|sum| checked_weight(*sum).map(drop))?;
        for first in (0..sums.len()).step_by(DECIDED) {
            let places = first..sums.len().min(first + DECIDED);
            let given = places.filter(|place| sums[*place] > 0);
            let (places, weights): (Vec<usize>, Vec<(Digest, u64)>) =
                given.map(|place| (place, (pruned.item(place), sums[place]))).unzip();
            let before = decided.len();
            decide.run(&weights, &mut decided)?;
            let mut released = Decisions::each(&decided[before..])?.map(|(item, _)| item).peekable();
            for place in places {
                if released.next_if(|item| *item == pruned.item(place)).is_some() {
                    removed.insert(ItemCode::from_index(place));
                }
            }
            if released.next().is_some() {
                return Err(Error::Internal("a round released an item that nobody holds"));
            }
        }
        Ok(decided)
    }
}

/// Prunes the users of partitions on one thread. Buffers are kept from partition to partition.
struct Pruner {
    partition: Partition,
    codes: Vec<u32>,
    block: Block,
    packed: Vec<u8>,
}

impl Pruner {
    fn new(rounds: &Rounds<'_>) -> Self {
        Self {
            partition: Partition::new(rounds.job.key()),
            codes: Vec::new(),
            block: Block::default(),
            packed: Vec::new(),
        }
    }

    /// Prune all users of the partition.
    fn run(&mut self, coding: &Coding<'_>, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Self { partition, codes, block, packed } = self;
        coding.codes_of(&partition.items, codes);
        partition.each_user(|items, user, places, keyed| {
            coding.prune(user, (items, places), codes, (block, keyed));
            if block.rows() >= BLOCK_ROWS {
                block.take(packed);
                write(packed)?;
            }
            Ok(())
        })?;
        if block.rows() == 0 {
            return Ok(());
        }
        block.take(packed);
        write(packed)
    }
}
