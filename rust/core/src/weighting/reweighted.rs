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
use crate::contributions::{ItemCode, Vocabulary};
use crate::numeric::widths::codes;
use crate::random::Digest;
use crate::runtime::{Control, TALLIED, Tally, WEIGHING, parallel};

/// The largest importance of an item; an abandoned item has the importance 0.
pub const FULL_IMPORTANCE: u16 = 256;

/// Slots below this are summed by each thread for itself: they have the most frequent items, which threads would
/// otherwise change at the same time.
const PRIVATE_SLOTS: usize = 1 << 16;

/// The rows of all users, and for each slot the sum of all weights of its item so far, in grid steps.
#[derive(Debug)]
pub struct ReweightedHistogram {
    sums: Vec<AtomicU64>,
    slots: Slots,
    /// The digest of the item of each slot. In the vocabulary they stand far apart.
    digests: Vec<Digest>,
    rows: KeptRows,
    /// One for each row, if some user has a cap that binds.
    drifts: Vec<Drift>,
    /// The place of each user's budget.
    budget_of: Vec<u8>,
    budgets: Budgets,
}

impl ReweightedHistogram {
    /// All weights zero.
    pub(crate) fn new(mut rows: KeptRows, vocabulary: &Vocabulary, budgets: Budgets) -> Self {
        let slots = Slots::assign(&mut rows, vocabulary.code_bound());
        let known = vocabulary.digests();
        let digests = (0..slots.len()).map(|slot| known.get(slots.item(slot))).collect();
        // Otherwise: a table has at most 64 sizes. The place is beyond them, so the user gives nothing.
        let place = |len: &u32| u8::try_from(budgets.place(*len as usize)).unwrap_or(u8::MAX);
        let budget_of: Vec<u8> = rows.lens.iter().map(place).collect();
        let binds = budget_of.iter().any(|place| budgets.binds((*place).into()));
        let drifts = vec![0; if binds { rows.items.as_slice().len() } else { 0 }];
        let sums = (0..slots.len()).map(|_| AtomicU64::new(0)).collect();
        Self { sums, slots, digests, rows, drifts, budget_of, budgets }
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

    /// The sums of the weights of some slots over all rounds so far.
    pub(crate) fn weights(&self, slots: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        self.sums[slots].iter().map(|sum| sum.load(Ordering::Relaxed))
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
        let threads = parallel::threads_for(self.rows.items.as_slice().len(), control);
        let alone = if threads == 1 { 0 } else { self.slots.shared() };
        let private = self.slots.shared().min(PRIVATE_SLOTS);
        let round =
            WeighedRound { sums: &self.sums, importances, budgets, private, alone, pool: Mutex::default() };
        let (mut items, mut drifts) = (self.rows.items.as_mut_slice(), self.drifts.as_mut_slice());
        let (mut lens, mut first_row) = (self.rows.lens.as_mut_slice(), 0);
        let mut parts = Vec::with_capacity(self.rows.parts.len());
        for (number, (users, _)) in (1..).zip(&self.rows.parts) {
            // Otherwise: this is the last part.
            let end_row = self.rows.parts.get(number).map_or(first_row + items.len(), |next| next.1);
            let (part_items, rest_items) = items.split_at_mut(end_row - first_row);
            let (part_drifts, rest_drifts) = drifts.split_at_mut(part_items.len().min(drifts.len()));
            let (part_lens, rest_lens) = lens.split_at_mut(users.len());
            let budget_of = &self.budget_of[users.clone()];
            parts.push(Rows { lens: part_lens, budget_of, items: part_items, drifts: part_drifts });
            (items, drifts, lens, first_row) = (rest_items, rest_drifts, rest_lens, end_row);
        }
        parallel::map(threads, parts, |rows| round.weigh(rows, tally));
        round.merge();
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
    /// No two threads add to one of the slots from here on.
    alone: usize,
    /// The sums of threads that work on no part now.
    pool: Mutex<Vec<Vec<u64>>>,
}

impl WeighedRound<'_> {
    /// Weigh the rows of a part.
    fn weigh(&self, rows: Rows<'_>, tally: Tally<'_>) {
        // Nothing panics while it holds the lock.
        let taken = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // Otherwise: more threads work now than before.
        let mut private = taken.unwrap_or_else(|| vec![0; self.private]);
        rows.weigh(self, &mut private, tally);
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).push(private);
    }

    #[inline]
    fn add(&self, private: &mut [u64], slot: u32, weight: u64) {
        let slot = slot as usize;
        if let Some(sum) = private.get_mut(slot) {
            *sum += weight;
        } else if slot >= self.alone {
            // A plain addition is several times as fast as an atomic one.
            let sum = &self.sums[slot];
            sum.store(sum.load(Ordering::Relaxed) + weight, Ordering::Relaxed);
        } else {
            self.sums[slot].fetch_add(weight, Ordering::Relaxed);
        }
    }

    /// Add the sums of all threads.
    fn merge(self) {
        for private in self.pool.into_inner().unwrap_or_else(PoisonError::into_inner) {
            for (sum, more) in self.sums.iter().zip(private) {
                sum.store(sum.load(Ordering::Relaxed) + more, Ordering::Relaxed);
            }
        }
    }
}

/// The rows of consecutive users, one user after the other without gaps.
struct Rows<'a> {
    lens: &'a mut [u32],
    budget_of: &'a [u8],
    items: &'a mut [u32],
    drifts: &'a mut [Drift],
}

impl Rows<'_> {
    /// Drop rows of items without importance, and add the weights of the others.
    fn weigh(self, round: &WeighedRound<'_>, private: &mut [u64], tally: Tally<'_>) {
        let (mut read, mut write) = (0, 0);
        let mut kept = Vec::new();
        for (number, (len, place)) in (1..).zip(self.lens.iter_mut().zip(self.budget_of)) {
            let budget = round.budgets.get(usize::from(*place));
            let end = read + *len as usize;
            let moves_drifts = budget.is_some_and(RoundBudget::binds);
            kept.resize(*len as usize, 0);
            let (first, mut squares) = (write, 0);
            // Without a branch: whether a row stays cannot be predicted.
            for at in read..end {
                let item = self.items[at];
                let importance = round.importances[item as usize];
                self.items[write] = item;
                if moves_drifts {
                    self.drifts[write] = self.drifts[at];
                }
                kept[write - first] = importance;
                squares += u64::from(importance) * u64::from(importance);
                write += usize::from(importance > 0);
            }
            *len = codes(write - first);
            read = end;
            let Some(budget) = budget else { continue };
            let spread = budget.spread(squares);
            let items = &self.items[first..write];
            if moves_drifts {
                let drifts = &mut self.drifts[first..write];
                for ((item, importance), drift) in items.iter().zip(&kept).zip(drifts) {
                    round.add(private, *item, spread.weight(*importance, drift));
                }
            } else {
                for (item, importance) in items.iter().zip(&kept) {
                    round.add(private, *item, spread.uncapped(*importance));
                }
            }
            if number % TALLIED == 0 {
                tally.add(TALLIED);
            }
        }
    }
}
