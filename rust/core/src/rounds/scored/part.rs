//! A part of the users: they give, and the items that they alone hold are decided.

use super::alone_items::AloneItems;
use super::deciding::Deciding;
use super::parts::UsersOfPart;
use super::rows::Rows;
use super::slots::Slots;
use super::sums::Adding;
use crate::Result;
use crate::contributions::{Digests, ItemCode};
use crate::numeric::widths::codes;
use crate::random::Digest;
use crate::rounds::selected::Released;
use crate::weighting::{Budgets, RoundBudget};

/// Items of one user each that are decided at a time, about.
const BLOCK: usize = if cfg!(test) { 16 } else { 2048 };

/// Consecutive users with their items.
#[derive(Debug)]
pub(super) struct Part {
    /// The place of each user's budget.
    budgets: Vec<u8>,
    /// The rows of items that other users keep, too.
    rows: Rows,
    /// The numbers of the other items of each user.
    lens: Vec<u32>,
    alone: AloneItems,
}

/// The digests of items.
pub(super) fn digests_of(codes: &[u32], known: &Digests<'_>) -> Vec<Digest> {
    codes.iter().map(|code| known.get(ItemCode::from_index(*code as usize))).collect()
}

/// What all threads share in a round.
pub(super) struct Round<'a> {
    pub(super) sums: Adding<'a>,
    /// Of shared items, by slot.
    pub(super) importances: &'a [u16],
    pub(super) budgets: Vec<RoundBudget>,
    pub(super) deciding: Deciding<'a>,
}

/// The slots of shared items and the codes of the others, while a part is made. Their memory is used again: fresh memory
/// is dear.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    shared: Vec<u32>,
    alone: Vec<u32>,
}

impl Part {
    /// These users, with the items that they share and the others.
    pub(super) fn new(
        users: &UsersOfPart,
        slots: &Slots,
        (digests, budgets): (&Digests<'_>, &Budgets),
        Buffers { shared, alone }: &mut Buffers,
    ) -> Self {
        // Otherwise: a table has at most 64 sizes. The place is beyond them, so the user gives nothing.
        let place = |items: &[u32]| u8::try_from(budgets.place(items.len())).unwrap_or(u8::MAX);
        let places = users.items().map(place).collect();
        let rows = users.rows();
        shared.resize(rows.max(shared.len()), 0);
        alone.resize(rows.max(alone.len()), 0);
        let (mut ends, mut lens) = ([0, 0], Vec::with_capacity(users.len()));
        for items in users.items() {
            let with_slot = slots.divide(items, &mut shared[ends[0]..], &mut alone[ends[1]..]);
            lens.push(codes(items.len() - with_slot));
            ends = [ends[0] + with_slot, ends[1] + items.len() - with_slot];
        }
        let lens_of_shared = users.items().zip(&lens).map(|(items, alone)| items.len() - *alone as usize);
        let rows = Rows::new(&shared[..ends[0]], lens_of_shared, slots.len());
        let alone = &alone[..ends[1]];
        let alone = AloneItems::new(alone.to_vec(), digests_of(alone, digests));
        Self { budgets: places, rows, lens, alone }
    }

    /// Number of users.
    pub(super) fn users(&self) -> usize {
        self.lens.len()
    }

    /// Before the first round.
    pub(super) fn begin(&mut self, budgets: &Budgets) {
        self.alone.begin();
        if self.budgets.iter().any(|place| budgets.binds((*place).into())) {
            self.rows.begin();
        }
    }

    /// Let the users give, and decide the items that they alone hold. Items that are abandoned leave.
    pub(super) fn run(
        &mut self,
        round: &Round<'_>,
        private: &mut [u32],
        released: &mut Vec<Released>,
    ) -> Result<()> {
        let mut squares = vec![0; self.lens.len()];
        self.rows.add_squares(round.importances, &mut squares);
        let mut spreads = Vec::with_capacity(squares.len());
        let mut deciding = self.alone.begin_round(round.deciding);
        let (mut user, mut end) = (0, 0);
        while user < self.lens.len() {
            let (first_user, first) = (user, end);
            while user < self.lens.len() && end - first < BLOCK {
                let items = end..end + self.lens[user] as usize;
                squares[user] += self.alone.squares(items.clone());
                (user, end) = (user + 1, items.end);
            }
            let users = first_user..user;
            // Otherwise: the user is larger than any budget is for.
            let budget = |place: &u8| round.budgets.get(usize::from(*place)).unwrap_or(&RoundBudget::NOTHING);
            let budgets = self.budgets[users.clone()].iter().map(budget);
            spreads.extend(budgets.zip(&squares[users.clone()]).map(|(budget, all)| budget.spread(*all)));
            self.alone.get(first, self.lens[users.clone()].iter().zip(&spreads[users.clone()]));
            deciding.decide(&mut self.alone, (first..end, self.lens[users].iter_mut()), released)?;
        }
        deciding.end(&mut self.alone);
        self.rows.give(round.importances, &spreads, (&round.sums, private));
        Ok(())
    }
}
