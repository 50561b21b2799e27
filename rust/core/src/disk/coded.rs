//! Rounds that decide items one by one, where the weights of all candidates fit into memory.
//!
//! A candidate is an item that some round can release, as the user counts say. Users are read once, and pruned as on
//! Spark: what stays of a user is its number of items, and its candidates with their ranks. Candidates go by codes. So a
//! round reads a few bytes of each row, adds up weights in an array and decides its items, as in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use super::numbering::Hashes;
use super::pruned::{Block, Columns, Sums};
use super::rounds::Rounds;
use crate::accounting::L0Bound;
use crate::bounding::{AHEAD, ItemSet, Priorities};
use crate::contributions::ItemCode;
use crate::exchange::{ByDigest, Chances, Decisions, OnItems, Packed, Partition, Weights, checked_weight};
use crate::numeric::widths::codes;
use crate::random::{CodedWords, Digest};
use crate::rounds::Round;
use crate::runtime::memory::Growing;
use crate::scratch::{Spool, Stored};
use crate::{Error, Result};

/// Rows of a block, about.
const BLOCK_ROWS: usize = 1 << 15;
/// Items that are decided together.
const DECIDED: usize = 1 << 14;

/// Finds the items that some round can release, and gives codes to them.
struct Coding<'a> {
    bound: L0Bound,
    priorities: Priorities,
    chances: Chances,
    /// The hashes of frequent items, and the users of each.
    hashes: Hashes,
    users: &'a [u32],
    /// The most users of all other items.
    above: u32,
    met: RwLock<Met>,
    /// The bytes that candidates may take.
    most: usize,
    are_too_many: AtomicBool,
}

/// The frequent items and candidates that were met so far.
#[derive(Debug, Default)]
struct Met {
    /// The first item with each frequent hash, and its code; zero before there is one.
    first: Vec<Digest>,
    first_codes: Vec<u32>,
    /// Candidates that are not first.
    others: ByDigest<u32>,
    candidates: Growing<u128>,
}

/// The place of an item that no round can release.
const NO_CODE: u32 = u32::MAX;

/// Bytes of an entry of a table of digests: digest, code, and the free entries beside it.
const OTHER_BYTES: usize = 40;

impl Met {
    /// The bytes that candidates take now, or would take if one more came: a full table is there twice while it grows.
    fn bytes(&self) -> usize {
        let tables = if self.others.len() < self.others.capacity() { 1 } else { 3 };
        self.candidates.bytes() + tables * self.others.capacity() * OTHER_BYTES
    }

    /// The code of an item that was met before. Other items than first ones are met only if they are candidates.
    #[inline]
    fn code(&self, of_hash: Option<u32>, item: Digest) -> Option<u32> {
        match of_hash {
            Some(of_hash) if self.first[of_hash as usize] == item => Some(self.first_codes[of_hash as usize]),
            Some(_) | None => self.others.get(&item).copied(),
        }
    }

    /// Meet an item; returns its code.
    fn meet(&mut self, of_hash: Option<u32>, item: Digest, is_candidate: bool) -> u32 {
        // Another thread may have met it since.
        if let Some(code) = self.code(of_hash, item) {
            return code;
        }
        let code = if is_candidate { codes(self.candidates.len()) } else { NO_CODE };
        self.candidates.extend(is_candidate.then_some(item.0).into_iter());
        match of_hash.map(|of_hash| of_hash as usize) {
            Some(place) if self.first[place] == Digest::default() => {
                (self.first[place], self.first_codes[place]) = (item, code);
            }
            Some(_) | None if is_candidate => {
                self.others.insert(item, code);
            }
            Some(_) | None => {}
        }
        code
    }
}

impl Coding<'_> {
    /// The code of each item of a partition. Only items that were not met before are looked at more closely.
    fn codes_of(&self, items: &[Digest], found: &mut Vec<u32>) {
        let mut of_hashes = Vec::new();
        self.hashes.codes_of(items, &mut of_hashes);
        let (mut places, mut new, mut users) = (Vec::new(), Vec::new(), Vec::new());
        let met = self.met.read().unwrap_or_else(PoisonError::into_inner);
        found.clear();
        for (place, (item, of_hash)) in items.iter().zip(&of_hashes).enumerate() {
            let code = met.code(*of_hash, *item);
            if code.is_none() {
                places.push(place);
                new.push(*item);
                users.push(of_hash.map_or(self.above, |of_hash| self.users[of_hash as usize]));
            }
            found.push(code.unwrap_or(NO_CODE)); // Otherwise: changed below, if it is a candidate.
        }
        drop(met);
        let are_candidates = self.chances.can_release(&new, &users);
        let mut met = self.met.write().unwrap_or_else(PoisonError::into_inner);
        for ((place, item), is_candidate) in places.into_iter().zip(new).zip(are_candidates) {
            if is_candidate || of_hashes[place].is_some() {
                found[place] = met.meet(of_hashes[place], item, is_candidate);
            }
        }
        if met.bytes() > self.most {
            self.are_too_many.store(true, Ordering::Relaxed);
        }
    }

    /// Prune a user: what stays are the candidates with fewer than `bound` other items before them.
    fn prune(
        &self,
        user: Digest,
        (items, places): (&[Digest], &mut [u32]),
        codes_of: &[u32],
        (block, keyed): (&mut Block, &mut CodedWords),
    ) {
        let bound = self.bound.get() as usize;
        let (total, code) = (codes(places.len()), |place: &u32| codes_of[*place as usize]);
        if places.len() <= bound {
            return block.add(total, places.iter().map(code).filter(|code| *code != NO_CODE));
        }
        let is_other = |place: &u32| code(place) == NO_CODE;
        for first in [bound.saturating_mul(AHEAD), usize::MAX] {
            let ordered = self.priorities.order(user, places, |place| items[place as usize], first, keyed);
            let others = places[..ordered].iter().filter(|place| is_other(place)).count();
            if others >= bound || ordered >= places.len() {
                break;
            }
        }
        // The rank of the first item of which nothing is ever kept, as of all behind it.
        let others = places.iter().enumerate().filter(|(_, place)| is_other(place));
        let end = others.map(|(rank, _)| rank).nth(bound - 1).unwrap_or(places.len()); // Otherwise: there is none.
        let kept = (0..).zip(&places[..end]).filter(|(_, place)| !is_other(place));
        block.add_ranked(total, kept.map(|(rank, place)| (code(place), rank)));
    }
}

impl Rounds<'_> {
    /// Prune all users, given the user counts of frequent items.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn coded(&self, contributions: &Stored<i32>, frequent: Vec<(u32, u32)>) -> Result<Coded> {
        let spec = self.job.spec();
        let bound = spec.bound.ok_or(Error::Internal("rounds without a bound"))?;
        let (hashes, users) = Hashes::new(frequent);
        let met = Met {
            first: vec![Digest::default(); users.len()],
            first_codes: vec![NO_CODE; users.len()],
            ..Met::default()
        };
        let coding = Coding {
            bound,
            priorities: Priorities::new(self.job.key()),
            chances: self.job.chances()?,
            hashes,
            users: &users,
            above: self.job.frequent_above(),
            met: RwLock::new(met),
            most: self.stages.memory.candidates,
            are_too_many: AtomicBool::new(false),
        };
        let blocks = Spool::<i32>::new(self.scratch)?;
        self.stages.each_partition(
            contributions,
            || (Pruner::new(self), self.stages.writer(&blocks)),
            |(pruner, writer), number, values| {
                if coding.are_too_many.load(Ordering::Relaxed) {
                    return Ok(());
                }
                pruner.partition.read(contributions, values, self.stages.control)?;
                pruner.run(&coding, |packed| writer.push(number, packed))
            },
            |(_, mut writer)| writer.flush(),
        )?;
        if coding.are_too_many.into_inner() {
            return Ok(Coded::TooMany(coding.hashes.with_users(&users)));
        }
        let met = coding.met.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Coded::Pruned(Pruned { blocks: blocks.stored(), items: met.candidates, bound }))
    }

    /// The decisions of all rounds on pruned users.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn on_candidates(&self, pruned: &Pruned) -> Result<Packed> {
        let mut removed = ItemSet::new(pruned.items.len());
        let mut released = Packed::default();
        for (number, round) in (0_u32..).zip(&self.job.spec().calibration.rounds) {
            let sums = self.weights(round, pruned, &removed)?;
            released =
                released.with(&self.held_bytes(self.decide(number, pruned, &sums, &mut removed)?)?);
            self.stages.control.end_phase();
        }
        Ok(released)
    }

    /// The weight of each candidate in a round. A thread adds up those of a range at a time.
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

/// What becomes of users whose candidates are to go by codes.
pub(super) enum Coded {
    Pruned(Pruned),
    /// The candidates do not fit into memory. The user counts come back.
    TooMany(Vec<(u32, u32)>),
}

/// Pruned users in scratch, and the candidates by code.
pub(super) struct Pruned {
    blocks: Stored<i32>,
    items: Growing<u128>,
    bound: L0Bound,
}

impl Pruned {
    fn item(&self, code: usize) -> Digest {
        Digest(self.items.as_slice()[code])
    }
}

/// Prunes the users of partitions on one thread. Buffers are kept from partition to partition.
struct Pruner {
    partition: Partition,
    codes: Vec<u32>,
    block: Block,
    packed: Vec<u8>,
    keyed: CodedWords,
}

impl Pruner {
    fn new(rounds: &Rounds<'_>) -> Self {
        Self {
            partition: Partition::new(rounds.job.key()),
            codes: Vec::new(),
            block: Block::default(),
            packed: Vec::new(),
            keyed: CodedWords::default(),
        }
    }

    /// Prune all users of the partition.
    fn run(&mut self, coding: &Coding<'_>, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Self { partition, codes, block, packed, keyed } = self;
        coding.codes_of(&partition.items, codes);
        partition.each_user(|items, user, places| {
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
