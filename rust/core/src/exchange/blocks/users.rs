//! Users of scored rounds in blocks: the items that they keep, what they gave to them, and all that is known of items that
//! one user alone holds. Of shared items the importances and what users give now are in memory. The rest is on the disk,
//! by code, or with the driver of Spark.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::exchange::items::checked_weight;
use crate::exchange::wire::Decisions;
use crate::numeric::widths::{codes, index};
use crate::random::{Digest, Words};
use crate::rounds::{Decider, ItemState, Outcome};
use crate::weighting::{Drift, FULL_IMPORTANCE, RoundBudget};
use crate::{Error, Result};

const DAMAGED: Error = Error::Internal("blocks of users are damaged");
/// This bit of the item of a row says that its user alone holds it. What follows is its place among such items.
pub(crate) const OWN: u32 = 1 << 31;
/// The most shared items: their codes leave that bit free.
pub(crate) const MOST_SHARED: usize = OWN as usize;
/// The importance of an abandoned item in memory. No other has it.
const ABANDONED: u16 = u16::MAX;
const _: () = assert!(FULL_IMPORTANCE < ABANDONED);

/// An item after some rounds, as it stands in a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(crate) struct Item {
    digest: [u64; 2],
    /// The sum of all weights so far.
    weight: u64,
    noise: i64,
    exposure: u32,
    importance: u16,
    unused: u16,
}

impl Item {
    /// Before the first round.
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are meant")]
    pub(crate) fn new(digest: Digest) -> Self {
        let digest = [digest.0 as u64, (digest.0 >> 64) as u64];
        Self { digest, ..Self::default() }.with(ItemState::default())
    }

    pub(crate) fn digest(&self) -> Digest {
        let [low, high] = self.digest.map(u128::from);
        Digest(high << 64 | low)
    }

    fn state(&self) -> ItemState {
        ItemState { noise: self.noise, exposure: self.exposure, importance: self.importance }
    }

    fn with(self, ItemState { noise, exposure, importance }: ItemState) -> Self {
        Self { noise, exposure, importance, ..self }
    }

    /// Add a weight of the current round.
    pub(crate) fn give(&mut self, weight: u64) {
        // Otherwise: the sum is too large, which `decide` refuses.
        self.weight = self.weight.saturating_add(weight);
    }

    /// Its importance, or a number that says that it is abandoned.
    pub(crate) fn importance(&self) -> u16 {
        if self.exposure | u32::from(self.importance) == 0 { ABANDONED } else { self.importance }
    }
}

/// Decide items, and append the released ones to packed decisions.
///
/// # Errors
/// [`Error::Capacity`] for more users than noise may be added for.
pub(crate) fn decide(items: &mut [Item], round: &(Decider, Words), released: &mut Vec<u8>) -> Result<()> {
    /// Items whose words are drawn together.
    const DRAWN: usize = 256;
    let (decider, words) = round;
    let (mut digests, mut drawn) = ([Digest::default(); DRAWN], [0; DRAWN]);
    for items in items.chunks_mut(DRAWN) {
        for (digest, item) in digests.iter_mut().zip(&*items) {
            *digest = item.digest();
        }
        words.fill(&digests[..items.len()], &mut drawn[..items.len()]);
        for (item, word) in items.iter_mut().zip(drawn) {
            match decider.decide(item.state(), checked_weight(item.weight)?, word) {
                Outcome::Released(noisy) => Decisions::push(item.digest(), noisy, released),
                Outcome::Kept(state) => *item = item.with(state),
                Outcome::Abandoned => *item = item.with(ItemState::ABANDONED),
            }
        }
    }
    Ok(())
}

/// On the disk, shared items with smaller codes have the most users. Each thread adds up what users give to them, and no
/// thread waits for another. On Spark a task has one thread, and codes have no such order: nothing is lost or won.
const OFTEN: usize = 1 << 15;

/// What is in memory of the items that several users may hold, by their codes.
#[derive(Debug)]
pub(crate) struct SharedItems {
    importances: Vec<AtomicU16>,
    /// What users give in the current round.
    given: Vec<AtomicU64>,
}

impl SharedItems {
    /// So many items before the first round.
    pub(crate) fn new(items: usize) -> Self {
        Self {
            importances: (0..items).map(|_| AtomicU16::new(FULL_IMPORTANCE)).collect(),
            given: (0..items).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The items of these importances, one for each code, of which nobody has given yet.
    pub(crate) fn with(importances: impl IntoIterator<Item = u16>) -> Self {
        let importances: Vec<AtomicU16> = importances.into_iter().map(AtomicU16::new).collect();
        Self { given: importances.iter().map(|_| AtomicU64::new(0)).collect(), importances }
    }

    /// What users gave to each item in the current round.
    pub(crate) fn given(&self) -> impl Iterator<Item = u64> {
        self.given.iter().map(|given| given.load(Ordering::Relaxed))
    }

    /// Decide the items from this code on, when all users have given.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more users than noise may be added for; [`Error::Internal`] for an item that is not
    /// there.
    pub(crate) fn decide(
        &self,
        first: usize,
        items: &mut [Item],
        round: &(Decider, Words),
        released: &mut Vec<u8>,
    ) -> Result<()> {
        let codes = first..first + items.len();
        let given = self.given.get(codes.clone()).ok_or(DAMAGED)?;
        let importances = self.importances.get(codes).ok_or(DAMAGED)?;
        for (item, given) in items.iter_mut().zip(given) {
            item.give(given.swap(0, Ordering::Relaxed));
        }
        decide(items, round, released)?;
        for (item, importance) in items.iter().zip(importances) {
            importance.store(item.importance(), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Some users with their kept items, as columns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Users {
    /// The number of rows of each user.
    lens: Vec<u32>,
    /// The item of each row. Those that its user alone holds come in their order.
    items: Vec<u32>,
    own: Vec<Item>,
    /// What the user gave to the item of each row so far.
    drifts: Vec<Drift>,
    /// The place of each user's budget.
    budgets: Vec<u8>,
    /// The importances of one user, while it gives.
    importances: Vec<u16>,
    /// What the users give to the shared items that have many, until the thread ends its part of a round.
    often: Vec<u64>,
}

impl Users {
    /// Add a user, whose budget is at this place. Each item is a code of shared ones, or the digest of one that nobody
    /// else holds.
    pub(crate) fn add(&mut self, budget: u8, items: impl Iterator<Item = Result<u32, Digest>>) {
        let before = self.items.len();
        for item in items {
            let item = item.unwrap_or_else(|digest| {
                // Otherwise: an item of this user alone.
                self.own.push(Item::new(digest));
                OWN | codes(self.own.len() - 1)
            });
            self.items.push(item);
        }
        self.drifts.resize(self.items.len(), 0);
        self.lens.push(codes(self.items.len() - before));
        self.budgets.push(budget);
    }

    /// Give shared items other codes: `codes` has one for each code so far.
    ///
    /// # Errors
    /// [`Error::Internal`] for an item without a code.
    pub(crate) fn renumber(&mut self, codes: &[u32]) -> Result<()> {
        for item in self.items.iter_mut().filter(|item| **item & OWN == 0) {
            *item = *codes.get(*item as usize).ok_or(DAMAGED)?;
        }
        Ok(())
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.items.len()
    }

    /// Start anew, and keep the memory.
    pub(crate) fn clear(&mut self) {
        self.lens.clear();
        self.items.clear();
        self.own.clear();
        self.drifts.clear();
        self.budgets.clear();
    }

    /// One round: users give to their items, and the items that one alone holds are decided. Rows of items that the
    /// rounds before abandoned leave, and so do users without rows.
    ///
    /// # Errors
    /// As [`SharedItems::decide`].
    pub(crate) fn run(
        &mut self,
        budgets: &[RoundBudget],
        shared: &SharedItems,
        round: &(Decider, Words),
        released: &mut Vec<u8>,
    ) -> Result<()> {
        let own_items = self.own.len();
        let is_there = |item: &u32| match item & OWN {
            0 => (*item as usize) < shared.importances.len(),
            _ => ((item ^ OWN) as usize) < own_items,
        };
        if !self.items.iter().all(is_there) {
            return Err(DAMAGED);
        }
        self.often.resize(shared.given.len().min(OFTEN), 0);
        let (mut from, mut to, mut own, mut users) = (0, 0, 0, 0);
        for user in 0..self.lens.len() {
            let (rows, start) = (from..from + index(self.lens[user].into()), to);
            from = rows.end;
            self.keep(rows, shared, (&mut to, &mut own));
            if to > start {
                (self.lens[users], self.budgets[users]) = (codes(to - start), self.budgets[user]);
                let budget = budgets.get(usize::from(self.budgets[user])).ok_or(DAMAGED)?;
                self.give(start..to, budget, shared);
                users += 1;
            }
        }
        self.lens.truncate(users);
        self.budgets.truncate(users);
        self.items.truncate(to);
        self.drifts.truncate(to);
        self.own.truncate(own);
        decide(&mut self.own, round, released)
    }

    /// Move the rows of a user whose items are not abandoned to `to`, and its own items among them to `own`, and note
    /// their importances.
    fn keep(
        &mut self,
        rows: std::ops::Range<usize>,
        shared: &SharedItems,
        (to, own): (&mut usize, &mut usize),
    ) {
        self.importances.clear();
        for row in rows {
            let mut item = self.items[row];
            let importance = if item & OWN == 0 {
                shared.importances[item as usize].load(Ordering::Relaxed)
            } else {
                let known = self.own[(item ^ OWN) as usize];
                if known.importance() != ABANDONED {
                    // Own items come in the order of rows, so this place is free.
                    self.own[*own] = known;
                    item = OWN | codes(*own);
                    *own += 1;
                }
                known.importance()
            };
            if importance != ABANDONED {
                (self.items[*to], self.drifts[*to]) = (item, self.drifts[row]);
                self.importances.push(importance);
                *to += 1;
            }
        }
    }

    /// Let a user give to its items.
    fn give(&mut self, rows: std::ops::Range<usize>, budget: &RoundBudget, shared: &SharedItems) {
        let squares = self.importances.iter().map(|importance| u64::from(*importance).pow(2)).sum();
        let spread = budget.spread(squares);
        let rows = self.items[rows.clone()].iter().zip(&mut self.drifts[rows]);
        for ((item, drift), importance) in rows.zip(&self.importances) {
            let weight = spread.weight(*importance, drift);
            if item & OWN != 0 {
                self.own[(item ^ OWN) as usize].weight += weight;
            } else if let Some(given) = self.often.get_mut(*item as usize) {
                *given = given.saturating_add(weight);
            } else {
                shared.given[*item as usize].fetch_add(weight, Ordering::Relaxed);
            }
        }
    }

    /// Add up what was given to items that have many users.
    pub(crate) fn end(&mut self, shared: &SharedItems) {
        for (given, often) in shared.given.iter().zip(&mut self.often) {
            given.fetch_add(std::mem::take(often), Ordering::Relaxed);
        }
    }

    /// Write the users to a buffer: the numbers of users, rows and own items; then the columns.
    pub(crate) fn pack(&self, packed: &mut Vec<u8>) {
        packed.clear();
        for len in [self.lens.len(), self.items.len(), self.own.len()] {
            packed.extend(codes(len).to_ne_bytes());
        }
        packed.extend_from_slice(self.lens.as_slice().as_bytes());
        packed.extend_from_slice(self.items.as_slice().as_bytes());
        packed.extend_from_slice(self.own.as_slice().as_bytes());
        packed.extend_from_slice(self.drifts.as_slice().as_bytes());
        packed.extend_from_slice(&self.budgets);
    }

    /// Read users into this one's memory.
    ///
    /// # Errors
    /// [`Error::Internal`] if the bytes are damaged.
    pub(crate) fn unpack(&mut self, packed: &[u8]) -> Result<()> {
        let mut rest = packed;
        let mut number = || {
            let (bytes, tail) = rest.split_first_chunk().ok_or(DAMAGED)?;
            rest = tail;
            Ok(index(u32::from_ne_bytes(*bytes).into()))
        };
        let (users, rows, own): (usize, usize, usize) = (number()?, number()?, number()?);
        read(&mut rest, users, &mut self.lens)?;
        read(&mut rest, rows, &mut self.items)?;
        read(&mut rest, own, &mut self.own)?;
        read(&mut rest, rows, &mut self.drifts)?;
        read(&mut rest, users, &mut self.budgets)?;
        let total: u64 = self.lens.iter().map(|len| u64::from(*len)).sum();
        if rest.is_empty() && total == rows as u64 { Ok(()) } else { Err(DAMAGED) }
    }
}

/// Take so many values off the front, into memory that is there.
pub(crate) fn read<T: FromBytes + IntoBytes + Immutable + Clone + Default>(
    rest: &mut &[u8],
    len: usize,
    values: &mut Vec<T>,
) -> Result<()> {
    let bytes = len.checked_mul(size_of::<T>()).ok_or(DAMAGED)?;
    let (taken, tail) = rest.split_at_checked(bytes).ok_or(DAMAGED)?;
    *rest = tail;
    values.resize(len, T::default());
    values.as_mut_slice().as_mut_bytes().copy_from_slice(taken);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_come_back_from_their_bytes_and_half_of_them_is_an_error() {
        let mut users = Users::default();
        users.add(3, [Ok(7), Err(Digest(5)), Ok(9)].into_iter());
        users.add(0, [Err(Digest(u128::MAX))].into_iter());
        users.drifts[1] = 500;
        users.own[0] = users.own[0].with(ItemState { noise: -4, exposure: 8, importance: 9 });
        let (mut packed, mut back) = (Vec::new(), Users::default());
        users.pack(&mut packed);
        back.unpack(&packed).unwrap();
        assert_eq!(back, users);
        assert_eq!(back.own[1].digest(), Digest(u128::MAX));
        for len in 0..packed.len() {
            assert!(back.unpack(&packed[..len]).is_err());
        }
    }

    #[test]
    fn rows_of_abandoned_items_and_users_without_rows_leave() {
        let shared = SharedItems::new(2);
        shared.importances[1].store(ABANDONED, Ordering::Relaxed);
        let mut users = Users::default();
        users.add(0, [Ok(1), Err(Digest(5)), Ok(0), Err(Digest(6))].into_iter());
        users.add(1, [Ok(1)].into_iter());
        users.add(2, [Err(Digest(7))].into_iter());
        users.own[0] = users.own[0].with(ItemState::ABANDONED);
        let (mut to, mut own) = (0, 0);
        users.keep(0..4, &shared, (&mut to, &mut own));
        assert_eq!((to, own, users.importances.len()), (2, 1, 2));
        users.keep(4..5, &shared, (&mut to, &mut own));
        assert_eq!((to, own, users.importances.len()), (2, 1, 0));
        users.keep(5..6, &shared, (&mut to, &mut own));
        assert_eq!(users.items[..to], [0, OWN, OWN | 1]);
        assert_eq!(users.own[..own].iter().map(|item| item.digest().0).collect::<Vec<_>>(), [6, 7]);
    }
}
