//! Users of scored rounds on the disk: the items that they keep, what they gave to them, and all that is known of items
//! that one user alone holds. The state of shared items is in memory.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::exchange::Decisions;
use crate::numeric::widths::{codes, index};
use crate::random::{Digest, Words};
use crate::rounds::{Decider, ItemState, Outcome};
use crate::weighting::{Drift, RoundBudget, UNIT};
use crate::{Error, Result};

const DAMAGED: Error = Error::Internal("users in scratch are damaged");
/// The largest weight that noise may be added to, as in the exchange.
pub(super) const LARGEST: u64 = UNIT << 32;
/// This bit of the item of a row says that its user alone holds it.
const OWN: u32 = 1 << 31;
/// The most shared items.
pub(super) const MOST_SHARED: usize = OWN as usize;

/// An item after some rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    digest: Digest,
    /// The sum of all weights so far.
    weight: u64,
    state: ItemState,
}

impl Item {
    /// Before the first round.
    fn new(digest: Digest) -> Self {
        Self { digest, weight: 0, state: ItemState::default() }
    }

    fn is_abandoned(&self) -> bool {
        self.state == ItemState::ABANDONED
    }
}

/// Decide items, and append the released ones to packed decisions.
fn decide(items: &mut [Item], round: &(Decider, Words), released: &mut Vec<u8>) -> Result<()> {
    let (decider, words) = round;
    let digests: Vec<Digest> = items.iter().map(|item| item.digest).collect();
    let mut drawn = vec![0; digests.len()];
    words.fill(&digests, &mut drawn);
    for (item, word) in items.iter_mut().zip(drawn) {
        if item.weight > LARGEST {
            return Err(Error::Capacity { what: "users of one item", limit: 1 << 32 });
        }
        match decider.decide(item.state, item.weight, word) {
            Outcome::Released(noisy) => Decisions::push(item.digest, noisy, released),
            Outcome::Kept(state) => item.state = state,
            Outcome::Abandoned => item.state = ItemState::ABANDONED,
        }
    }
    Ok(())
}

/// The items that several users may hold, by their codes. They stay in memory.
#[derive(Debug)]
pub(super) struct SharedItems {
    items: Vec<Item>,
    /// What users give in the current round.
    given: Vec<AtomicU64>,
}

impl SharedItems {
    /// Items before the first round.
    pub(super) fn new(digests: impl IntoIterator<Item = Digest>) -> Self {
        let items: Vec<Item> = digests.into_iter().map(Item::new).collect();
        let given = items.iter().map(|_| AtomicU64::new(0)).collect();
        Self { items, given }
    }

    /// Decide all items, when all users have given.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more users than noise may be added for.
    pub(super) fn decide(&mut self, round: &(Decider, Words), released: &mut Vec<u8>) -> Result<()> {
        for (item, given) in self.items.iter_mut().zip(&mut self.given) {
            item.weight = item.weight.saturating_add(std::mem::take(given.get_mut()));
        }
        // In pieces, so that little is held beside them.
        self.items.chunks_mut(1 << 14).try_for_each(|items| decide(items, round, released))
    }
}

/// Some users with their kept items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Users {
    /// The number of rows of each user, and the place of its budget.
    lens: Vec<(u32, u8)>,
    /// The item of each row, and what the user gave to it so far.
    rows: Vec<(u32, Drift)>,
    own: Vec<Item>,
}

impl Users {
    /// Add a user, whose budget is at this place. Each item is a code of shared ones, or the digest of one that nobody
    /// else holds.
    pub(super) fn add(&mut self, budget: u8, items: impl Iterator<Item = Result<u32, Digest>>) {
        let before = self.rows.len();
        for item in items {
            let item = item.unwrap_or_else(|digest| {
                // Otherwise: an item of this user alone.
                self.own.push(Item::new(digest));
                OWN | codes(self.own.len() - 1)
            });
            self.rows.push((item, 0));
        }
        self.lens.push((codes(self.rows.len() - before), budget));
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// One round: users give to their items, and the items that one alone holds are decided.
    ///
    /// # Errors
    /// As [`SharedItems::decide`]; [`Error::Internal`] for an item that is not there.
    pub(super) fn run(
        &mut self,
        budgets: &[RoundBudget],
        shared: &SharedItems,
        round: &(Decider, Words),
        released: &mut Vec<u8>,
    ) -> Result<()> {
        self.forget_abandoned(shared)?;
        let (mut rest, mut importances) = (self.rows.as_mut_slice(), Vec::new());
        for (len, budget) in &self.lens {
            let (rows, others) = rest.split_at_mut_checked(index((*len).into())).ok_or(DAMAGED)?;
            rest = others;
            importances.clear();
            importances
                .extend(rows.iter().map(|(item, _)| item_of(*item, shared, &self.own).state.importance));
            let squares = importances.iter().map(|importance| u64::from(*importance).pow(2)).sum();
            let spread = budgets.get(usize::from(*budget)).ok_or(DAMAGED)?.spread(squares);
            for ((item, drift), importance) in rows.iter_mut().zip(&importances) {
                let weight = spread.weight(*importance, drift);
                if *item & OWN == 0 {
                    shared.given[*item as usize].fetch_add(weight, Ordering::Relaxed);
                } else {
                    self.own[(*item ^ OWN) as usize].weight += weight;
                }
            }
        }
        decide(&mut self.own, round, released)
    }

    /// Leave out the rows of items that the rounds before abandoned, and users without rows.
    fn forget_abandoned(&mut self, shared: &SharedItems) -> Result<()> {
        let (mut lens, mut rows, mut own) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = self.rows.as_slice();
        for &(len, budget) in &self.lens {
            let (mine, others) = rest.split_at_checked(index(len.into())).ok_or(DAMAGED)?;
            rest = others;
            let before = rows.len();
            for &(item, drift) in mine {
                let is_own = item & OWN != 0;
                let known = if is_own {
                    self.own.get((item ^ OWN) as usize)
                } else {
                    shared.items.get(item as usize)
                };
                let known = known.ok_or(DAMAGED)?;
                if known.is_abandoned() {
                    continue;
                }
                if is_own {
                    own.push(*known);
                    rows.push((OWN | codes(own.len() - 1), drift));
                } else {
                    rows.push((item, drift));
                }
            }
            if rows.len() > before {
                lens.push((codes(rows.len() - before), budget));
            }
        }
        *self = Self { lens, rows, own };
        Ok(())
    }

    /// The users as bytes, little-endian: the numbers of users, rows and own items; then these, field by field.
    pub(super) fn pack(&self) -> Vec<u8> {
        let mut packed =
            Vec::with_capacity(12 + self.lens.len() * 5 + self.rows.len() * 6 + self.own.len() * ITEM);
        for len in [self.lens.len(), self.rows.len(), self.own.len()] {
            packed.extend(codes(len).to_le_bytes());
        }
        for (len, budget) in &self.lens {
            packed.extend(len.to_le_bytes());
            packed.push(*budget);
        }
        for (item, drift) in &self.rows {
            packed.extend(item.to_le_bytes());
            packed.extend(drift.to_le_bytes());
        }
        for Item { digest, weight, state } in &self.own {
            packed.extend(digest.0.to_le_bytes());
            packed.extend(weight.to_le_bytes());
            packed.extend(state.noise.to_le_bytes());
            packed.extend(state.exposure.to_le_bytes());
            packed.extend(state.importance.to_le_bytes());
        }
        packed
    }

    /// # Errors
    /// [`Error::Internal`] if the bytes are damaged.
    pub(super) fn unpack(packed: &[u8]) -> Result<Self> {
        let mut rest = packed;
        let numbers =
            [u32_of(&mut rest)?, u32_of(&mut rest)?, u32_of(&mut rest)?].map(|len| index(len.into()));
        let user = |rest: &mut &[u8]| Ok((u32_of(rest)?, u8::from_le_bytes(take(rest)?)));
        let row = |rest: &mut &[u8]| Ok((u32_of(rest)?, Drift::from_le_bytes(take(rest)?)));
        let lens = several(numbers[0], &mut rest, user)?;
        let rows = several(numbers[1], &mut rest, row)?;
        let own = several(numbers[2], &mut rest, |rest| {
            let (digest, weight) =
                (Digest(u128::from_le_bytes(take(rest)?)), u64::from_le_bytes(take(rest)?));
            let state = ItemState {
                noise: i64::from_le_bytes(take(rest)?),
                exposure: u32_of(rest)?,
                importance: u16::from_le_bytes(take(rest)?),
            };
            Ok(Item { digest, weight, state })
        })?;
        if rest.is_empty() { Ok(Self { lens, rows, own }) } else { Err(DAMAGED) }
    }
}

/// Bytes of a packed item.
const ITEM: usize = 16 + 8 + 8 + 4 + 2;

fn item_of<'a>(item: u32, shared: &'a SharedItems, own: &'a [Item]) -> &'a Item {
    if item & OWN == 0 { &shared.items[item as usize] } else { &own[(item ^ OWN) as usize] }
}

fn several<T>(len: usize, rest: &mut &[u8], each: impl Fn(&mut &[u8]) -> Result<T>) -> Result<Vec<T>> {
    if len > rest.len() {
        return Err(DAMAGED);
    }
    (0..len).map(|_| each(rest)).collect()
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (bytes, tail) = rest.split_first_chunk().ok_or(DAMAGED)?;
    *rest = tail;
    Ok(*bytes)
}

fn u32_of(rest: &mut &[u8]) -> Result<u32> {
    take(rest).map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_come_back_from_their_bytes_and_half_of_them_is_an_error() {
        let mut users = Users::default();
        users.add(3, [Ok(7), Err(Digest(5)), Ok(9)].into_iter());
        users.add(0, [Err(Digest(u128::MAX))].into_iter());
        users.rows[1].1 = 500;
        users.own[0] = Item { state: ItemState { noise: -4, exposure: 8, importance: 9 }, ..users.own[0] };
        let packed = users.pack();
        assert_eq!(Users::unpack(&packed).unwrap(), users);
        for len in 0..packed.len() {
            assert!(Users::unpack(&packed[..len]).is_err());
        }
    }

    #[test]
    fn rows_of_abandoned_items_and_users_without_rows_leave() {
        let mut shared = SharedItems::new([Digest(1), Digest(2)]);
        shared.items[1].state = ItemState::ABANDONED;
        let mut users = Users::default();
        users.add(0, [Ok(1), Err(Digest(5)), Ok(0), Err(Digest(6))].into_iter());
        users.add(1, [Ok(1)].into_iter());
        users.add(2, [Err(Digest(7))].into_iter());
        users.own[0].state = ItemState::ABANDONED;
        users.forget_abandoned(&shared).unwrap();
        assert_eq!(users.lens, [(2, 0), (1, 2)]);
        assert_eq!(users.rows.iter().map(|row| row.0).collect::<Vec<_>>(), [0, OWN, OWN | 1]);
        assert_eq!(users.own.iter().map(|item| item.digest.0).collect::<Vec<_>>(), [6, 7]);
    }
}
