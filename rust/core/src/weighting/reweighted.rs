//! The weights of scored rounds, in which each user's weights are proportional to public importances of the items.
//!
//! Importances are functions of the outcomes of earlier rounds. So a user's weights depend on these outcomes and on its
//! own items only. Their L2 norm in a round is at most the user's norm of the round, and what one item gets over all
//! rounds is at most the user's cap, both exactly.
//!
//! The rows stay here over all rounds, because each has a drift: what the user gave to the item. Rows of abandoned
//! items leave while the next round is weighed.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::slots::Slots;
use super::spread::{Budgets, Drift, RoundBudget};
use crate::Result;
use crate::bounding::KeptRows;
use crate::contributions::{ItemCode, Piece, Vocabulary};
use crate::numeric::widths::codes;
use crate::random::Digest;
use crate::runtime::{Control, Tally, WEIGHING, parallel};

/// The largest importance of an item; an abandoned item has the importance 0.
pub const FULL_IMPORTANCE: u16 = 256;

/// Threads sum slots for themselves up to this number of slots, divided among them. Slots begin with the most frequent
/// items, which threads would otherwise change at the same time. Tests reach beyond it with few items.
const PRIVATE_SLOTS: usize = if cfg!(test) { 1 << 16 } else { 1 << 21 };

/// Slots whose private sums are added up at a time.
const MERGED: usize = 1 << 16;

/// The rows of all users, and for each slot the sum of all weights of its item so far, in grid steps.
#[derive(Debug)]
pub struct ReweightedHistogram {
    sums: Vec<AtomicU64>,
    slots: Slots,
    /// The digest of the item of each slot. In the vocabulary they stand far apart.
    digests: Vec<Digest>,
    rows: KeptRows,
    /// The sums of each thread in a round, kept for their memory. They are zero between rounds.
    private: Vec<Vec<u64>>,
    /// One for each row, if some user has a cap that binds.
    drifts: Vec<Drift>,
    /// The place of each user's budget.
    budget_of: Vec<u8>,
    budgets: Budgets,
}

impl ReweightedHistogram {
    /// All weights zero.
    pub(crate) fn new(
        mut rows: KeptRows,
        vocabulary: &Vocabulary,
        budgets: Budgets,
        control: &Control,
    ) -> Self {
        let slots = Slots::assign(&mut rows, vocabulary.code_bound());
        let digests = slots.digests(vocabulary, control);
        // Otherwise: a table has at most 64 sizes. The place is beyond them, so the user gives nothing.
        let place = |len: &u32| u8::try_from(budgets.place(*len as usize)).unwrap_or(u8::MAX);
        let budget_of: Vec<u8> = rows.lens.iter().map(place).collect();
        let binds = budget_of.iter().any(|place| budgets.binds((*place).into()));
        let drifts = vec![0; if binds { rows.rows } else { 0 }];
        let sums = (0..slots.len()).map(|_| AtomicU64::new(0)).collect();
        Self { sums, slots, digests, rows, private: Vec::new(), drifts, budget_of, budgets }
    }

    /// Number of slots: one for each item that a user keeps.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The item of a slot.
    #[inline]
    pub(crate) fn item(&self, slot: usize) -> ItemCode {
        self.slots.item(slot)
    }

    /// The digest of the item of a slot.
    #[inline]
    pub(crate) fn digest(&self, slot: usize) -> Digest {
        self.digests[slot]
    }

    /// The sum of the weights of a slot over all rounds so far.
    #[inline]
    pub(crate) fn weight(&self, slot: usize) -> u64 {
        self.sums[slot].load(Ordering::Relaxed)
    }

    /// Add the weights of a round of this share under these importances, one for each slot.
    ///
    /// The sums are of integers, so neither the order of users nor the number of threads matters.
    ///
    /// # Errors
    /// Interruption.
    pub(crate) fn weigh(&mut self, share: u32, importances: &[u16], control: &Control) -> Result<()> {
        let budgets = self.budgets.in_round(share);
        let tally = control.tally(WEIGHING, self.rows.lens.len());
        let threads = parallel::threads_for(self.rows.rows, control);
        let shared = self.slots.shared();
        let private = shared.min(PRIVATE_SLOTS / threads);
        let pool = Mutex::new(std::mem::take(&mut self.private));
        let round = WeighedRound { sums: &self.sums, importances, budgets, private, shared, pool };
        let (mut lens, mut drifts) = (self.rows.lens.as_mut_slice(), self.drifts.as_mut_slice());
        let mut parts = Vec::with_capacity(self.rows.pieces.len());
        for Piece { users, items, len } in &mut self.rows.pieces {
            // There are none if no cap binds.
            let (part_drifts, rest_drifts) = drifts.split_at_mut((*len).min(drifts.len()));
            let (part_lens, rest_lens) = lens.split_at_mut(users.len());
            let (items, budget_of) = (&mut items.as_mut_slice()[..*len], &self.budget_of[users.clone()]);
            parts.push(Rows { lens: part_lens, budget_of, items, drifts: part_drifts });
            (lens, drifts) = (rest_lens, rest_drifts);
        }
        let each = parts.len().div_ceil(parallel::parts_for(threads)).max(1);
        parallel::map(threads, parts.chunks_mut(each).collect(), |parts| round.weigh(parts, tally));
        self.private = round.merge(threads);
        control.check()
    }
}

/// What all threads share in a round.
struct WeighedRound<'a> {
    sums: &'a [AtomicU64],
    importances: &'a [u16],
    budgets: Vec<RoundBudget>,
    /// Each thread has sums of its own for the slots below this.
    private: usize,
    /// The slots from here on have one user each, so no two threads add to one of them.
    shared: usize,
    /// The sums of threads that work on no part now.
    pool: Mutex<Vec<Vec<u64>>>,
}

impl WeighedRound<'_> {
    /// Weigh the rows of some parts.
    fn weigh(&self, parts: &mut [Rows<'_>], tally: Tally<'_>) {
        // Nothing panics while it holds the lock.
        let taken = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // Otherwise: more threads work now than before.
        let mut private = taken.unwrap_or_else(|| vec![0; self.private]);
        let mut block = Block::default();
        for rows in parts {
            rows.weigh(self, &mut private, &mut block, tally);
        }
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).push(private);
    }

    /// Add to a slot of an item that several users hold.
    #[inline]
    fn add_shared(&self, private: &mut [u64], slot: u32, weight: u64) {
        match private.get_mut(slot as usize) {
            Some(sum) => *sum += weight,
            None => drop(self.sums[slot as usize].fetch_add(weight, Ordering::Relaxed)),
        }
    }

    /// Add to a slot of an item that one user holds. A plain addition is several times as fast as an atomic one.
    #[inline]
    fn add_alone(&self, slot: u32, weight: u64) {
        let sum = &self.sums[slot as usize];
        sum.store(sum.load(Ordering::Relaxed) + weight, Ordering::Relaxed);
    }

    /// Add the sums of all threads. They are returned as zeros.
    fn merge(self, threads: usize) -> Vec<Vec<u64>> {
        let mut all = self.pool.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut pieces: Vec<_> = all.iter_mut().map(|sums| sums.chunks_mut(MERGED)).collect();
        let parts = self.sums[..self.private].chunks(MERGED).map(|sums| {
            let pieces: Vec<_> = pieces.iter_mut().filter_map(Iterator::next).collect();
            (sums, pieces)
        });
        let parts = parts.collect();
        parallel::map(threads, parts, |(sums, pieces)| {
            for (sum, more) in pieces.into_iter().flat_map(|piece| sums.iter().zip(piece)) {
                sum.store(sum.load(Ordering::Relaxed) + std::mem::take(more), Ordering::Relaxed);
            }
        });
        all
    }
}

/// The rows of consecutive users, one user after the other without gaps.
struct Rows<'a> {
    lens: &'a mut [u32],
    budget_of: &'a [u8],
    items: &'a mut [u32],
    drifts: &'a mut [Drift],
}

/// Rows weighed at a time, about. What is read and written at random stands in loops of its own over all of them, so
/// that the processor need not finish one user before it begins the next.
const BLOCK: usize = 2048;

/// The rows of a block.
#[derive(Default)]
struct Block {
    /// The importance of each row, then those of the rows that stay.
    importances: Vec<u16>,
    /// What is added to slots that several users share.
    shared: Vec<(u32, u64)>,
}

impl Rows<'_> {
    /// Drop rows of items without importance, and add the weights of the others.
    fn weigh(&mut self, round: &WeighedRound<'_>, private: &mut [u64], block: &mut Block, tally: Tally<'_>) {
        let (mut user, mut read, mut write) = (0, 0, 0);
        while user < self.lens.len() {
            let (first_user, first) = (user, read);
            while user < self.lens.len() && read - first < BLOCK {
                read += self.lens[user] as usize;
                user += 1;
            }
            let importances = self.items[first..read].iter().map(|item| round.importances[*item as usize]);
            block.importances.clear();
            block.importances.extend(importances);
            block.shared.clear();
            let mut start = first;
            for user in first_user..user {
                let rows = start..start + self.lens[user] as usize;
                start = rows.end;
                if !rows.is_empty() {
                    write += self.weigh_user(round, user, rows, (first, write), block);
                }
            }
            for (slot, weight) in &block.shared {
                round.add_shared(private, *slot, *weight);
            }
            tally.add(user - first_user);
        }
    }

    /// Weigh one user, whose rows that stay go to `write` and behind it; returns their number. The block begins at the
    /// row `first`.
    fn weigh_user(
        &mut self,
        round: &WeighedRound<'_>,
        user: usize,
        rows: Range<usize>,
        (first, write): (usize, usize),
        block: &mut Block,
    ) -> usize {
        let budget = round.budgets.get(usize::from(self.budget_of[user]));
        let start = rows.start - first;
        let importances = &mut block.importances[start..][..rows.len()];
        let left = match budget {
            Some(budget) if budget.binds() => self.drop_rows::<true>(round.shared, rows, write, importances),
            Some(_) | None => self.drop_rows::<false>(round.shared, rows, write, importances),
        };
        self.lens[user] = codes(left.rows);
        let Some(budget) = budget else { return left.rows };
        let spread = budget.spread(left.squares);
        let (shared, alone) = self.items[write..][..left.rows].split_at(left.shared);
        let (of_shared, of_alone) = importances[..left.rows].split_at(left.shared);
        if budget.binds() {
            let (of_shared_drift, of_alone_drift) =
                self.drifts[write..][..left.rows].split_at_mut(left.shared);
            let rows = shared.iter().zip(of_shared).zip(of_shared_drift);
            let weight = |((item, importance), drift): ((&u32, &u16), &mut Drift)| {
                (*item, spread.weight(*importance, drift))
            };
            block.shared.extend(rows.map(weight));
            let rows = alone.iter().zip(of_alone).zip(of_alone_drift);
            rows.map(weight).for_each(|(item, weight)| round.add_alone(item, weight));
        } else {
            let weight = |(item, importance): (&u32, &u16)| (*item, spread.uncapped(*importance));
            block.shared.extend(shared.iter().zip(of_shared).map(weight));
            let rows = alone.iter().zip(of_alone);
            rows.map(weight).for_each(|(item, weight)| round.add_alone(item, weight));
        }
        left.rows
    }

    /// Move the rows of a user that stay to `write` and behind it, and their importances to the front. Slots below
    /// `shared` are shared.
    fn drop_rows<const DRIFTS: bool>(
        &mut self,
        shared: usize,
        rows: Range<usize>,
        write: usize,
        importances: &mut [u16],
    ) -> Left {
        let mut left = Left { rows: 0, shared: 0, squares: 0 };
        // Without a branch: whether a row stays cannot be predicted.
        for (place, at) in rows.enumerate() {
            let (item, importance) = (self.items[at], importances[place]);
            self.items[write + left.rows] = item;
            if DRIFTS {
                self.drifts[write + left.rows] = self.drifts[at];
            }
            importances[left.rows] = importance;
            left.squares += u64::from(importance) * u64::from(importance);
            left.rows += usize::from(importance > 0);
            left.shared += usize::from(importance > 0) & usize::from((item as usize) < shared);
        }
        left
    }
}

/// What is left of a user in a round.
struct Left {
    rows: usize,
    /// The first of them are of items that other users hold too.
    shared: usize,
    /// The sum of the squared importances.
    squares: u64,
}
