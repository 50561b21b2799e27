//! All users of scored rounds, part by part.

use super::deciding::ScoredDecider;
use super::division::{MOST_USERS, divide_users, enough_rows};
use super::part::{Buffers, Inputs, Part};
use super::rows;
use super::slots::{RANGE, Slots};
use super::sums::{SlotSums, THREAD_SLOTS};
use crate::Result;
use crate::bounding::KeptPiece;
use crate::contributions::{Keys, Vocabulary};
use crate::rounds::selected::Released;
use crate::runtime::parallel::{self, Idle};
use crate::runtime::{Control, WEIGHING};
use crate::weighting::Budgets;

/// All users, in parts.
#[derive(Debug)]
pub(super) struct Users {
    parts: Vec<Part>,
    budgets: Budgets,
    /// Number of users, and of their rows at first.
    number: usize,
    rows: usize,
}

impl Users {
    /// Bytes for so many users with so many rows, of items with codes below `codes`, at most. The memory of items, which was
    /// counted, is freed as parts are made.
    pub(super) fn bytes(users: usize, rows: usize, codes: usize, control: &Control) -> usize {
        let (row, range) = rows::BYTES;
        let threads = parallel::threads_for(rows, control);
        let parts = 1 + users / MOST_USERS + rows / enough_rows(rows, threads);
        // An item with a slot has two users or more.
        let slots = codes.min(rows / 2).next_multiple_of(RANGE);
        let ranges = parts * slots / RANGE;
        let sums = (threads * slots).min(THREAD_SLOTS) + threads * RANGE;
        let of_items = rows * size_of::<u32>();
        (rows * row).saturating_sub(of_items) + ranges.min(rows) * range + sums * size_of::<u32>()
    }

    /// Users who keep these items, and the items that they share, before the first round. Digests in the vocabulary are
    /// freed before noise, exposures, importances and drifts take memory.
    pub(super) fn new(
        pieces: Vec<KeptPiece>,
        vocabulary: Vocabulary,
        budgets: Budgets,
        control: &Control,
    ) -> (Self, SlotSums, Keys) {
        let number = pieces.iter().map(|piece| piece.items_by_user().len()).sum();
        let rows = pieces.iter().flat_map(KeptPiece::items_by_user).map(<[u32]>::len).sum();
        let threads = parallel::threads_for(rows, control);
        let slots = Slots::assign(&pieces, vocabulary.code_bound(), threads);
        let digests = vocabulary.digests();
        let chunks = slots.codes().chunks(slots.len().div_ceil(threads).max(1));
        let of_shared = parallel::map(threads, chunks.collect(), |codes| digests.of(codes));
        let idle = Idle::default();
        let users = divide_users(pieces, enough_rows(rows, threads));
        let mut parts = parallel::map(threads, users, |users| {
            let mut buffers = idle.take(Buffers::default);
            let part = Part::new(&users, &slots, (&digests, &budgets), &mut buffers);
            idle.put(buffers);
            part
        });
        let sums = SlotSums::new(slots.into_codes(), of_shared.concat());
        let (keys, digests) = vocabulary.into_keys();
        parallel::free(threads, digests);
        parallel::map(threads, parts.iter_mut().collect(), |part: &mut Part| part.begin(&budgets));
        (Self { parts, budgets, number, rows }, sums, keys)
    }

    /// Let all users give in a round of this share, under these importances of shared items by range of slots, and decide
    /// the items that one user alone keeps. Returns those that are released.
    ///
    /// # Errors
    /// Interruption; [`crate::Error::Internal`] for weights far beyond a user's norm.
    pub(super) fn run(
        &mut self,
        sums: &mut SlotSums,
        (share, importances): (u32, &[[u16; RANGE]]),
        decider: ScoredDecider<'_>,
        control: &Control,
    ) -> Result<Vec<Released>> {
        let tally = control.tally(WEIGHING, self.number);
        let threads = parallel::threads_for(self.rows, control);
        let budgets = self.budgets.in_round(share);
        let round = Inputs { sums: sums.adding(threads), importances, budgets, decider };
        let released = parallel::map(threads, self.parts.iter_mut().collect(), |part: &mut Part| {
            let (mut of_thread, mut released) = (round.sums.take(), Vec::new());
            let result = part.run(&round, &mut of_thread, &mut released);
            round.sums.put(of_thread);
            tally.add(part.users());
            result.map(|()| released)
        });
        let of_threads = round.sums.end();
        sums.merge(of_threads, threads);
        control.check()?;
        Ok(released.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}
