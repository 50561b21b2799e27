//! Rounds that decide items one by one, where the weights of all candidates fit into memory.
//!
//! A candidate is an item that some round can release, as the user counts say. Users are read once, and pruned as on
//! Spark: what stays of a user is its number of items, and its candidates with their ranks. Candidates go by codes. So a
//! round reads a few bytes of each row, adds up weights in an array and decides its items, as in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use zerocopy::native_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use super::partition::Partition;
use super::rounds::Rounds;
use super::users::LARGEST;
use crate::accounting::L0Bound;
use crate::bounding::{ItemSet, Priorities};
use crate::contributions::ItemCode;
use crate::exchange::{ByDigest, Candidates, Decisions, OnItems, Packed, UserCounts, Weights};
use crate::numeric::widths::{codes, index};
use crate::random::Digest;
use crate::scratch::{Spool, Stored};
use crate::{Error, Result};

/// Bytes that a candidate takes: its count, code, digest and weight. Its weight on each thread is not among them.
pub(super) const BYTES: usize = 112;
/// Rows of a block, about.
const BLOCK_ROWS: usize = 1 << 15;
/// Items that are decided together.
const DECIDED: usize = 1 << 14;
/// Items of a user that are put in order at first, in multiples of the bound. The rest is seldom needed.
const AHEAD: usize = 4;

const DAMAGED: Error = Error::Internal("pruned users in scratch are damaged");

/// Pruned users as columns. On the disk they stand one after the other, after their lengths.
#[derive(Debug, Default, PartialEq, Eq)]
struct Block {
    /// The number of items of each user, and of its candidates.
    users: Vec<[u32; 2]>,
    /// The codes of candidates.
    items: Vec<u32>,
    /// For each candidate of a user above the bound, the number of the user's items before it.
    ranks: Vec<u32>,
}

impl Block {
    /// Append the bytes to an empty buffer.
    fn pack(&self, packed: &mut Vec<u8>) {
        packed.clear();
        for len in [self.users.len(), self.items.len(), self.ranks.len()] {
            packed.extend(codes(len).to_ne_bytes());
        }
        packed.extend_from_slice(self.users.as_slice().as_bytes());
        packed.extend_from_slice(self.items.as_slice().as_bytes());
        packed.extend_from_slice(self.ranks.as_slice().as_bytes());
    }

    fn clear(&mut self) {
        self.users.clear();
        self.items.clear();
        self.ranks.clear();
    }
}

/// A packed block.
struct Packaged<'a> {
    users: &'a [[U32; 2]],
    items: &'a [U32],
    ranks: &'a [U32],
}

impl<'a> Packaged<'a> {
    /// # Errors
    /// [`Error::Internal`] if it is damaged.
    fn of(packed: &'a [u8]) -> Result<Self> {
        let ([users, items, ranks], rest) = <[U32; 3]>::ref_from_prefix(packed).map_err(|_| DAMAGED)?;
        let of = |len: U32| index(len.get().into());
        let (users, rest) = <[[U32; 2]]>::ref_from_prefix_with_elems(rest, of(*users)).map_err(|_| DAMAGED)?;
        let (items, rest) = <[U32]>::ref_from_prefix_with_elems(rest, of(*items)).map_err(|_| DAMAGED)?;
        let ranks = <[U32]>::ref_from_bytes_with_elems(rest, of(*ranks)).map_err(|_| DAMAGED)?;
        Ok(Self { users, items, ranks })
    }

    /// Add what the users give to their candidates, without those that earlier rounds released.
    ///
    /// # Errors
    /// [`Error::Internal`] for users that do not fit together.
    fn weigh(&self, bound: u32, weights: &mut Weights, removed: &ItemSet, sums: &mut [u64]) -> Result<()> {
        let is_removed = |item: &U32| removed.contains(ItemCode(item.get()));
        let (mut items, mut ranks) = (self.items, self.ranks);
        for [total, kept] in self.users {
            let (own, rest) = items.split_at_checked(index(kept.get().into())).ok_or(DAMAGED)?;
            items = rest;
            if own.iter().any(|item| item.get() as usize >= sums.len()) {
                return Err(DAMAGED);
            }
            let gone = codes(own.iter().filter(|item| is_removed(item)).count());
            let left = total.get().checked_sub(gone).ok_or(DAMAGED)?;
            let weight = weights.of(left.min(bound).into());
            let mut give = |item: &U32| {
                let sum = &mut sums[item.get() as usize];
                *sum = sum.saturating_add(weight);
            };
            if total.get() <= bound {
                own.iter().filter(|item| !is_removed(item)).for_each(&mut give);
                continue;
            }
            let (own_ranks, rest) = ranks.split_at_checked(own.len()).ok_or(DAMAGED)?;
            ranks = rest;
            let mut gone_before = 0;
            for (item, rank) in own.iter().zip(own_ranks) {
                if is_removed(item) {
                    gone_before += 1;
                } else if rank.get().checked_sub(gone_before).ok_or(DAMAGED)? < bound {
                    give(item);
                }
            }
        }
        if items.is_empty() && ranks.is_empty() { Ok(()) } else { Err(DAMAGED) }
    }
}

/// The candidates that were met so far.
struct Coding<'a> {
    bound: L0Bound,
    priorities: Priorities,
    candidates: &'a Candidates,
    codes: Mutex<ByDigest<u32>>,
    /// The most candidates that fit into memory.
    most: usize,
    are_too_many: AtomicBool,
}

/// The place of an item that no round can release.
const NO_CODE: u32 = u32::MAX;

impl Coding<'_> {
    /// The code of each item of a partition.
    fn codes_of(&self, items: &[Digest], found: &mut Vec<u32>) {
        let candidates = self.candidates.most_users(items);
        let mut known = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let code = |(item, users): (&Digest, Option<u32>)| match users {
            Some(_) => {
                let next = codes(known.len());
                *known.entry(*item).or_insert(next)
            }
            None => NO_CODE,
        };
        found.clear();
        found.extend(items.iter().zip(candidates).map(code));
        if known.len() > self.most {
            self.are_too_many.store(true, Ordering::Relaxed);
        }
    }

    /// Prune a user: what stays are the candidates with fewer than `bound` other items before them.
    fn prune(&self, user: Digest, (items, places): (&[Digest], &mut [u32]), codes_of: &[u32], block: &mut Block, keyed: &mut Vec<u128>) {
        let (bound, before) = (self.bound.get() as usize, block.items.len());
        let code = |place: &u32| codes_of[*place as usize];
        if places.len() <= bound {
            block.items.extend(places.iter().map(code).filter(|code| *code != NO_CODE));
        } else {
            let mut first = bound.saturating_mul(AHEAD);
            loop {
                let ordered = self.priorities.order(user, places, |place| items[place as usize], first, keyed);
                let others = places[..ordered].iter().filter(|place| code(place) == NO_CODE).count();
                if others >= bound || ordered >= places.len() {
                    break;
                }
                first = usize::MAX;
            }
            let mut others = 0;
            for (rank, place) in places.iter().enumerate() {
                match code(place) {
                    NO_CODE => others += 1,
                    code => {
                        block.items.push(code);
                        block.ranks.push(codes(rank));
                    }
                }
                if others >= bound {
                    break;
                }
            }
        }
        let kept = block.items.len() - before;
        if kept > 0 {
            block.users.push([codes(places.len()), codes(kept)]);
        }
    }
}

impl Rounds<'_> {
    /// The decisions of all rounds; `None` if the candidates do not fit into memory.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn coded(&self, contributions: &Stored<i32>, users: UserCounts) -> Result<Option<Pruned>> {
        let spec = self.job.spec();
        let bound = spec.bound.ok_or(Error::Internal("rounds without a bound"))?;
        let candidates = self.job.candidates(users)?;
        let coding = Coding {
            bound,
            priorities: Priorities::new(self.job.key()),
            candidates: &candidates,
            codes: Mutex::default(),
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
                pruner.partition.clear();
                contributions.each(values, |value| {
                    self.stages.control.check()?;
                    pruner.partition.push(value)
                })?;
                pruner.run(&coding, |packed| writer.push(number, packed))
            },
            |(_, mut writer)| writer.flush(),
        )?;
        if coding.are_too_many.into_inner() {
            return Ok(None);
        }
        let codes = coding.codes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut items = vec![Digest::default(); codes.len()];
        for (item, code) in codes {
            items[code as usize] = item;
        }
        Ok(Some(Pruned { blocks: blocks.stored(), items, bound }))
    }

    /// The decisions of all rounds on pruned users.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn on_candidates(&self, pruned: &Pruned) -> Result<Packed> {
        let mut removed = ItemSet::new(pruned.items.len());
        let mut released = Packed::default();
        for (number, round) in (0_u32..).zip(&self.job.spec().calibration.rounds) {
            let sums = Mutex::new(vec![0_u64; pruned.items.len()]);
            self.stages.each_value(
                &pruned.blocks,
                || (Weights::new(round), vec![0_u64; pruned.items.len()]),
                |(weights, own), _, packed| {
                    Packaged::of(packed)?.weigh(pruned.bound.get(), weights, &removed, own)
                },
                |(_, own)| {
                    let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
                    sums.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.saturating_add(own));
                    Ok(())
                },
            )?;
            let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
            released = released.with(&self.held_bytes(self.decide(number, pruned, &sums, &mut removed)?)?);
            self.stages.control.end_phase();
        }
        Ok(released)
    }

    /// Decide all items of a round. Those that it releases are removed.
    fn decide(&self, number: u32, pruned: &Pruned, sums: &[u64], removed: &mut ItemSet) -> Result<Vec<u8>> {
        let (mut decide, mut decided) = (self.job.decide_items(number)?, Vec::new());
        if sums.iter().any(|sum| *sum > LARGEST) {
            return Err(Error::Capacity { what: "users of one item", limit: 1 << 32 });
        }
        for first in (0..sums.len()).step_by(DECIDED) {
            let places = first..sums.len().min(first + DECIDED);
            let given = places.filter(|place| sums[*place] > 0);
            let (places, weights): (Vec<usize>, Vec<(Digest, u64)>) =
                given.map(|place| (place, (pruned.items[place], sums[place]))).unzip();
            let before = decided.len();
            decide.run(&weights, &mut decided)?;
            let mut released = Decisions::each(&decided[before..])?.map(|(item, _)| item).peekable();
            for place in places {
                if released.next_if(|item| *item == pruned.items[place]).is_some() {
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

/// Pruned users in scratch, and the candidates by code.
pub(super) struct Pruned {
    blocks: Stored<i32>,
    items: Vec<Digest>,
    bound: L0Bound,
}

/// Prunes the users of partitions on one thread. Buffers are kept from partition to partition.
struct Pruner {
    partition: Partition,
    codes: Vec<u32>,
    block: Block,
    packed: Vec<u8>,
    keyed: Vec<u128>,
}

impl Pruner {
    fn new(rounds: &Rounds<'_>) -> Self {
        Self {
            partition: Partition::new(rounds.job.key()),
            codes: Vec::new(),
            block: Block::default(),
            packed: Vec::new(),
            keyed: Vec::new(),
        }
    }

    /// Prune all users of the partition.
    fn run(&mut self, coding: &Coding<'_>, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Self { partition, codes, block, packed, keyed } = self;
        coding.codes_of(&partition.items, codes);
        partition.each_user(|items, user, places| {
            coding.prune(user, (items, places), codes, block, keyed);
            if block.items.len() >= BLOCK_ROWS {
                block.pack(packed);
                block.clear();
                write(packed)?;
            }
            Ok(())
        })?;
        if !block.users.is_empty() {
            block.pack(packed);
            block.clear();
            write(packed)?;
        }
        Ok(())
    }
}
