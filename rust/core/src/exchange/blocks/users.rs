//! Users of scored rounds in blocks: the items that they keep, what they gave to them, and all that is known of items that
//! one user alone holds. Of shared items the importances and what users give now are in memory. The rest is on the disk,
//! by code, or with the driver of Spark.
//!
//! A block has two parts. One says who holds what, and changes only when rows leave. The other changes in every round.
//! So rows of abandoned items may stay for some rounds. They have no importance and get no weight.

use zerocopy::IntoBytes;

use super::columns::{DAMAGED, read};
use super::items::decide;
use super::parts::InParts;
use super::shared::SharedItems;
use crate::Result;
use crate::numeric::widths::{codes, index};
use crate::random::{Digest, Words};
use crate::rounds::{Alone, Decider};
use crate::weighting::{Drift, RoundBudget, square};

/// Bytes of a user: how many items it has, and the place of its budget.
const USER: usize = size_of::<[u32; 2]>() + 1;
/// Bytes of a row of a shared item: its code, and what the user gave.
const SHARED_ROW: usize = size_of::<u32>() + size_of::<Drift>();
/// Bytes of a row of an item that one user alone holds.
const OWN_ROW: usize = size_of::<Digest>() + size_of::<Alone>();

/// Some users with their kept items, as columns. Of each user the shared items come first.
#[derive(Debug, Default)]
pub(crate) struct Users {
    /// The numbers of shared and of own items of each user.
    lens: Vec<[u32; 2]>,
    /// The place of each user's budget.
    budgets: Vec<u8>,
    /// The codes of shared items.
    shared: Vec<u32>,
    own: Vec<Digest>,
    /// What users gave to shared items so far.
    drifts: Vec<Drift>,
    known: Vec<Alone>,
    /// Bytes of rows of abandoned items.
    abandoned: usize,
    round: Round,
}

/// Buffers of a round.
#[derive(Debug, Default)]
struct Round {
    /// The importance of each shared item.
    importances: Vec<u16>,
    /// What it is given.
    weights: Vec<u32>,
    /// What users give to the shared items that have many, until the thread ends its part of a round.
    often: Vec<u64>,
}

impl Users {
    /// Add a user, whose budget is at this place. Each item is a code of shared ones, or the digest of one that nobody
    /// else holds.
    pub(crate) fn add(&mut self, budget: u8, items: impl Iterator<Item = Result<u32, Digest>>) {
        let before = [self.shared.len(), self.own.len()];
        for item in items {
            match item {
                Ok(code) => self.shared.push(code),
                Err(digest) => self.own.push(digest),
            }
        }
        self.lens.push([codes(self.shared.len() - before[0]), codes(self.own.len() - before[1])]);
        self.budgets.push(budget);
        self.begin();
    }

    /// Nothing was given so far, to rows that were added.
    fn begin(&mut self) {
        self.drifts.resize(self.shared.len(), 0);
        self.known.resize(self.own.len(), Alone::new());
    }

    /// Give shared items other codes: `codes` has one for each code so far.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] for an item without a code.
    pub(crate) fn renumber(&mut self, codes: &[u32]) -> Result<()> {
        for item in &mut self.shared {
            *item = *codes.get(*item as usize).ok_or(DAMAGED)?;
        }
        Ok(())
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.shared.len() + self.own.len()
    }

    /// Start anew, and keep the memory.
    pub(crate) fn clear(&mut self) {
        self.lens.clear();
        self.budgets.clear();
        self.shared.clear();
        self.own.clear();
        self.drifts.clear();
        self.known.clear();
    }

    /// One round: users give to their items, and the items that one alone holds are decided. What is given to shared
    /// items has to be added to their sums before rows leave, by [`Self::hand_over_alone`] or [`Self::hand_over`].
    ///
    /// # Errors
    /// [`crate::Error::Capacity`] for more users than noise may be added for; [`crate::Error::Internal`] for an item
    /// that is not there.
    pub(crate) fn run(
        &mut self,
        budgets: &[RoundBudget],
        shared: &SharedItems,
        round: &(Decider, Words),
        released: &mut Vec<u8>,
    ) -> Result<()> {
        // What is read and written at random stands in loops of its own, so that the processor need not wait.
        self.abandoned = shared.look_up(&self.shared, &mut self.round.importances)? * SHARED_ROW;
        self.give(budgets)?;
        decide(&self.own, &mut self.known, round, released)?;
        self.abandoned += self.known.iter().filter(|own| own.is_abandoned()).count() * OWN_ROW;
        Ok(())
    }

    /// Let all users give to their items, of which shared ones get it later.
    fn give(&mut self, budgets: &[RoundBudget]) -> Result<()> {
        let Round { importances, weights, .. } = &mut self.round;
        weights.clear();
        let (mut importances, mut drifts) = (importances.as_slice(), self.drifts.as_mut_slice());
        let mut known = self.known.as_mut_slice();
        for ([shared, own], budget) in self.lens.iter().zip(&self.budgets) {
            let (of_shared, of_own): (usize, usize) = (index((*shared).into()), index((*own).into()));
            let (user_importances, user_drifts, user_known);
            (user_importances, importances) = importances.split_at_checked(of_shared).ok_or(DAMAGED)?;
            (user_drifts, drifts) = drifts.split_at_mut_checked(of_shared).ok_or(DAMAGED)?;
            (user_known, known) = known.split_at_mut_checked(of_own).ok_or(DAMAGED)?;
            let budget = budgets.get(usize::from(*budget)).ok_or(DAMAGED)?;
            let of_shared: u64 = user_importances.iter().map(|importance| square(*importance)).sum();
            let of_own: u64 = user_known.iter().map(Alone::square).sum();
            let spread = budget.spread(of_shared + of_own);
            if budget.binds() {
                let rows = user_importances.iter().zip(user_drifts);
                weights.extend(rows.map(|(importance, drift)| spread.weight(*importance, drift)));
            } else {
                weights.extend(user_importances.iter().map(|importance| spread.uncapped(*importance)));
            }
            for own in user_known {
                own.receive(&spread);
            }
        }
        Ok(())
    }

    /// Add what users gave to shared items, which no other thread has.
    pub(crate) fn hand_over_alone(&self, shared: &mut SharedItems) {
        debug_assert_eq!(self.shared.len(), self.round.weights.len());
        shared.add_alone(self.shared.iter().copied().zip(self.round.weights.iter().copied()));
    }

    /// Add what users gave to shared items. Of items that have many users it is kept until the thread ends its part.
    pub(crate) fn hand_over(&mut self, shared: &SharedItems) {
        let Round { weights, often, .. } = &mut self.round;
        debug_assert_eq!(self.shared.len(), weights.len());
        shared.add(self.shared.iter().copied().zip(weights.iter().copied()), often);
    }

    /// Add up what was given to items that have many users.
    pub(crate) fn end(&mut self, shared: &SharedItems) {
        shared.add_often(&mut self.round.often);
    }

    /// Append both parts to a buffer.
    pub(crate) fn pack(&self, packed: &mut Vec<u8>) {
        let numbers = 3 * size_of::<u32>();
        // At once: as it grew, what is there would be copied several times.
        packed.reserve(numbers + self.lens.len() * USER + self.size().0);
        self.pack_fixed(packed);
        self.pack_changing(packed);
    }

    /// Read both parts into this one's memory.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if the bytes are damaged.
    pub(crate) fn unpack(&mut self, packed: &[u8]) -> Result<()> {
        let mut rest = packed;
        self.read_fixed(&mut rest)?;
        self.read_changing(rest)
    }

    fn read_fixed(&mut self, rest: &mut &[u8]) -> Result<()> {
        let mut number = || {
            let (bytes, tail) = rest.split_first_chunk().ok_or(DAMAGED)?;
            *rest = tail;
            Ok(index(u32::from_ne_bytes(*bytes).into()))
        };
        let (users, shared, own): (usize, usize, usize) = (number()?, number()?, number()?);
        read(rest, own, &mut self.own)?;
        read(rest, users, &mut self.lens)?;
        read(rest, shared, &mut self.shared)?;
        read(rest, users, &mut self.budgets)?;
        let total = |side: usize| self.lens.iter().map(|lens| u64::from(lens[side])).sum::<u64>();
        if [total(0), total(1)] == [shared as u64, own as u64] { Ok(()) } else { Err(DAMAGED) }
    }

    fn read_changing(&mut self, mut rest: &[u8]) -> Result<()> {
        read(&mut rest, self.own.len(), &mut self.known)?;
        read(&mut rest, self.shared.len(), &mut self.drifts)?;
        if rest.is_empty() { Ok(()) } else { Err(DAMAGED) }
    }
}

/// Who holds what does not change. What users gave does, and what is known of items that one user alone holds.
impl InParts for Users {
    fn read_parts(&mut self, mut fixed: &[u8], changing: Option<&[u8]>) -> Result<()> {
        self.read_fixed(&mut fixed)?;
        if !fixed.is_empty() {
            return Err(DAMAGED);
        }
        if let Some(changing) = changing {
            return self.read_changing(changing);
        }
        self.drifts.clear();
        self.known.clear();
        self.begin();
        Ok(())
    }

    /// The numbers of users, shared and own rows; then the columns.
    fn pack_fixed(&self, packed: &mut Vec<u8>) {
        for len in [self.lens.len(), self.shared.len(), self.own.len()] {
            packed.extend(codes(len).to_ne_bytes());
        }
        packed.extend_from_slice(self.own.as_slice().as_bytes());
        packed.extend_from_slice(self.lens.as_slice().as_bytes());
        packed.extend_from_slice(self.shared.as_slice().as_bytes());
        packed.extend_from_slice(&self.budgets);
    }
    fn pack_changing(&self, packed: &mut Vec<u8>) {
        packed.extend_from_slice(self.known.as_slice().as_bytes());
        packed.extend_from_slice(self.drifts.as_slice().as_bytes());
    }

    /// In bytes. Abandoned are rows of items that were so before the last round ended.
    fn size(&self) -> (usize, usize) {
        (self.shared.len() * SHARED_ROW + self.own.len() * OWN_ROW, self.abandoned)
    }

    /// Users without rows leave, too.
    fn leave(&mut self, shared: &SharedItems) {
        let (mut users, mut read, mut left) = (0, [0, 0], [0, 0]);
        for user in 0..self.lens.len() {
            let ([of_shared, of_own], before) = (self.lens[user], left);
            let ends = [read[0] + index(of_shared.into()), read[1] + index(of_own.into())];
            for at in read[0]..ends[0] {
                if !shared.is_abandoned(self.shared[at]) {
                    (self.shared[left[0]], self.drifts[left[0]]) = (self.shared[at], self.drifts[at]);
                    left[0] += 1;
                }
            }
            for at in read[1]..ends[1] {
                if !self.known[at].is_abandoned() {
                    (self.own[left[1]], self.known[left[1]]) = (self.own[at], self.known[at]);
                    left[1] += 1;
                }
            }
            read = ends;
            if left != before {
                self.lens[users] = [codes(left[0] - before[0]), codes(left[1] - before[1])];
                self.budgets[users] = self.budgets[user];
                users += 1;
            }
        }
        self.lens.truncate(users);
        self.budgets.truncate(users);
        self.shared.truncate(left[0]);
        self.drifts.truncate(left[0]);
        self.own.truncate(left[1]);
        self.known.truncate(left[1]);
        self.abandoned = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared::ABANDONED;
    use super::*;
    use crate::rounds::{ItemState, Known};
    use crate::weighting::{Budget, Budgets};

    #[test]
    fn users_come_back_from_their_bytes_and_half_of_them_is_an_error() {
        let mut users = Users::default();
        users.add(3, [Ok(7), Err(Digest(5)), Ok(9)].into_iter());
        users.add(0, [Err(Digest(u128::MAX))].into_iter());
        users.drifts[1] = 500;
        users.known[0].set(ItemState { noise: -4, exposure: 8, importance: 9 });
        users.known[1].add(77);
        let (mut packed, mut back) = (Vec::new(), Users::default());
        users.pack(&mut packed);
        back.unpack(&packed).unwrap();
        let columns = |users: &Users| {
            let Users { lens, budgets, shared, own, drifts, known, .. } = users;
            (lens.clone(), budgets.clone(), shared.clone(), own.clone(), drifts.clone(), known.clone())
        };
        assert_eq!(columns(&back), columns(&users));
        assert_eq!((back.own[1], back.known[1].weight().unwrap()), (Digest(u128::MAX), 77));
        for len in 0..packed.len() {
            assert!(back.unpack(&packed[..len]).is_err());
        }
        let (mut fixed, mut changing) = (Vec::new(), Vec::new());
        users.pack_fixed(&mut fixed);
        users.pack_changing(&mut changing);
        back.read_parts(&fixed, Some(&changing)).unwrap();
        assert_eq!(columns(&back), columns(&users));
        assert!(back.read_parts(&packed, Some(&changing)).is_err());
        assert!(back.read_parts(&fixed, Some(&changing[1..])).is_err());
        back.read_parts(&fixed, None).unwrap();
        assert_eq!((&back.drifts[..], &back.known[..]), (&[0; 2][..], &[Alone::new(); 2][..]));
    }

    #[test]
    fn rows_of_abandoned_items_and_users_without_rows_leave() {
        let shared = SharedItems::new(2);
        shared.set(1, ABANDONED).unwrap();
        let mut users = Users::default();
        users.add(0, [Ok(1), Err(Digest(5)), Ok(0), Err(Digest(6))].into_iter());
        users.add(1, [Ok(1)].into_iter());
        users.add(2, [Err(Digest(7))].into_iter());
        users.known[0].set(ItemState::ABANDONED);
        users.drifts.copy_from_slice(&[3, 4, 5]);
        users.leave(&shared);
        assert_eq!((users.rows(), &users.lens[..]), (3, &[[1, 1], [0, 1]][..]));
        assert_eq!((&users.budgets[..], &users.shared[..]), (&[0, 2][..], &[0][..]));
        assert_eq!((&users.own[..], &users.drifts[..]), (&[Digest(6), Digest(7)][..], &[4][..]));
    }

    #[test]
    fn abandoned_items_get_no_weight_and_take_none_from_others() {
        let shared = SharedItems::new(3);
        shared.set(1, ABANDONED).unwrap();
        let budgets = Budgets::new(vec![(9, Budget::new(1 << 20, 1 << 19))]).in_round(1 << 16);
        let given = |items: [Result<u32, Digest>; 2], abandoned: bool| {
            let mut users = Users::default();
            users.add(0, items.into_iter());
            if abandoned {
                users.known[0].set(ItemState::ABANDONED);
            }
            let found = shared.look_up(&users.shared, &mut users.round.importances).unwrap();
            users.give(&budgets).unwrap();
            let own = users.known.iter().map(|own| own.weight().unwrap()).collect::<Vec<_>>();
            (found, users.round.weights, own)
        };
        let (found, weights, _) = given([Ok(0), Ok(1)], false);
        assert_eq!((found, weights[1]), (1, 0));
        let (_, beside_own, own) = given([Ok(0), Err(Digest(5))], true);
        assert_eq!((&beside_own[..], own[0]), (&weights[..1], 0));
        assert!(weights[0] > given([Ok(0), Ok(2)], false).1[0]);
        assert!(shared.look_up(&[3], &mut Vec::new()).is_err());
    }
}
