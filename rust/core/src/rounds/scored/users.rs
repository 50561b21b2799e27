//! Users in scored rounds. Each spreads its weight by public importances of its items.
//!
//! Importances are functions of the outcomes of earlier rounds. So a user's weights depend on these outcomes and on its
//! own items only. Their L2 norm in a round is at most the user's norm of the round, and what one item gets over all
//! rounds is at most the user's cap, both exactly.
//!
//! Items that one user alone holds stand beside their user, and are decided while the user gives.

use std::sync::{Mutex, PoisonError};

use super::alone::Alone;
use super::alone_items::{AloneItems, Deciding};
use super::parts::{UsersOfPart, divided};
use super::rows::Rows;
use super::slots::Slots;
use super::sums::{Adding, SharedSums};
use crate::Result;
use crate::bounding::KeptPiece;
use crate::contributions::{Digests, ItemCode, Keys, Vocabulary};
use crate::numeric::widths::codes;
use crate::random::Digest;
use crate::rounds::selected::Released;
use crate::runtime::{Control, WEIGHING, parallel};
use crate::weighting::{Budgets, RoundBudget};

/// Items of one user each that are decided at a time, about.
const BLOCK: usize = if cfg!(test) { 16 } else { 2048 };

/// All users, in parts.
#[derive(Debug)]
pub(super) struct Users {
    parts: Vec<Part>,
    budgets: Budgets,
    users: usize,
    rows: usize,
}

/// Consecutive users with their items.
#[derive(Debug)]
struct Part {
    /// The place of each user's budget.
    budgets: Vec<u8>,
    /// The rows of items that other users keep, too.
    rows: Rows,
    /// The numbers of the other items of each user.
    lens: Vec<u32>,
    alone: AloneItems,
}

impl Users {
    /// Users who keep these items, and the items that they share, before the first round. Digests in the vocabulary are
    /// freed before what is known of items takes memory.
    pub(super) fn new(
        pieces: Vec<KeptPiece>,
        vocabulary: Vocabulary,
        budgets: Budgets,
        control: &Control,
    ) -> (Self, SharedSums, Keys) {
        let users = pieces.iter().map(|piece| piece.users().len()).sum();
        let rows = pieces.iter().flat_map(KeptPiece::users).map(<[u32]>::len).sum();
        let threads = parallel::threads_for(rows, control);
        let slots = Slots::assign(&pieces, vocabulary.code_bound(), threads);
        let digests = vocabulary.digests();
        let step = slots.len().div_ceil(threads).max(1);
        let of_shared =
            parallel::map(threads, slots.codes().chunks(step).collect(), |codes| digests_of(codes, &digests));
        // Memory that is used again: fresh memory is dear.
        let spare = Mutex::new(Vec::new());
        let mut parts = parallel::map(threads, divided(pieces), |users| {
            // Nothing panics while it holds the lock. Otherwise: no thread is done with its first part.
            let taken = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut buffers: Buffers = taken.unwrap_or_default();
            let part = Part::new(&users, &slots, (&digests, &budgets), &mut buffers);
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
            part
        });
        let keys = vocabulary.into_keys(control);
        parallel::map(threads, parts.iter_mut().collect(), |part: &mut Part| part.begin(&budgets));
        (Self { parts, budgets, users, rows }, SharedSums::new(slots.into_codes(), of_shared.concat()), keys)
    }

    /// Let all users give in a round of this share, under these importances of shared items, one for each slot, and decide
    /// the items that one user alone holds. Returns those that are released.
    ///
    /// # Errors
    /// Interruption; [`crate::Error::Internal`] for weights beyond a user's norm.
    pub(super) fn run(
        &mut self,
        sums: &mut SharedSums,
        (share, importances): (u32, &[u16]),
        deciding: Deciding<'_>,
        control: &Control,
    ) -> Result<Vec<Released>> {
        let tally = control.tally(WEIGHING, self.users);
        let threads = parallel::threads_for(self.rows, control);
        let budgets = self.budgets.in_round(share);
        let round = Round { sums: sums.adding(threads), importances, budgets, deciding };
        let released = parallel::map(threads, self.parts.iter_mut().collect(), |part: &mut Part| {
            let (mut private, mut released) = (round.sums.take(), Vec::new());
            let result = part.run(&round, &mut private, &mut released);
            round.sums.put(private);
            tally.add(part.lens.len());
            result.map(|()| released)
        });
        let private = round.sums.end();
        sums.merge(private, threads);
        control.check()?;
        Ok(released.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}

/// The digests of items.
fn digests_of(codes: &[u32], known: &Digests<'_>) -> Vec<Digest> {
    codes.iter().map(|code| known.get(ItemCode::from_index(*code as usize))).collect()
}

/// What all threads share in a round.
struct Round<'a> {
    sums: Adding<'a>,
    importances: &'a [u16],
    budgets: Vec<RoundBudget>,
    deciding: Deciding<'a>,
}

/// The slots of shared items and the codes of the others, while a part is made.
#[derive(Debug, Default)]
struct Buffers {
    shared: Vec<u32>,
    alone: Vec<u32>,
}

impl Part {
    fn new(
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

    /// Before the first round.
    fn begin(&mut self, budgets: &Budgets) {
        self.alone.begin();
        if self.budgets.iter().any(|place| budgets.binds((*place).into())) {
            self.rows.begin();
        }
    }

    /// Let the users give, and decide the items that they alone hold. Items that are abandoned leave.
    fn run(&mut self, round: &Round<'_>, private: &mut [u32], released: &mut Vec<Released>) -> Result<()> {
        let mut squares = vec![0; self.lens.len()];
        self.rows.add_squares(round.importances, &mut squares);
        let mut spreads = Vec::with_capacity(squares.len());
        let mut deciding = self.alone.begin_round(round.deciding);
        let (mut user, mut end) = (0, 0);
        while user < self.lens.len() {
            let (first_user, first) = (user, end);
            while user < self.lens.len() && end - first < BLOCK {
                let items = &self.alone.known[end..end + self.lens[user] as usize];
                squares[user] += items.iter().map(Alone::square).sum::<u64>();
                (user, end) = (user + 1, end + items.len());
            }
            // Otherwise: the user is larger than any budget is for.
            let budget = |place: &u8| round.budgets.get(usize::from(*place)).unwrap_or(&RoundBudget::NOTHING);
            let of_users = self.budgets[first_user..user].iter().map(budget).zip(&squares[first_user..user]);
            spreads.extend(of_users.map(|(budget, squares)| budget.spread(*squares)));
            self.alone.get(first, self.lens[first_user..user].iter().zip(&spreads[first_user..]));
            let lens = self.lens[first_user..user].iter_mut();
            deciding.decide(&mut self.alone, (first..end, lens), released)?;
        }
        deciding.end(&mut self.alone);
        self.rows.give(round.importances, &spreads, (&round.sums, private));
        Ok(())
    }
}
