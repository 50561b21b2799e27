//! Users in scored rounds. Each spreads its weight by public importances of its items.
//!
//! Importances are functions of the outcomes of earlier rounds. So a user's weights depend on these outcomes and on its
//! own items only. Their L2 norm in a round is at most the user's norm of the round, and what one item gets over all
//! rounds is at most the user's cap, both exactly.
//!
//! Items that one user alone holds stand beside their user, and are decided while the user gives.

use super::deciding::Deciding;
use super::part::{Buffers, Part, Round, digests_of};
use super::parts::divided;
use super::slots::Slots;
use super::sums::SharedSums;
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
    /// Users who keep these items, and the items that they share, before the first round. Digests in the vocabulary are
    /// freed before what is known of items takes memory.
    pub(super) fn new(
        pieces: Vec<KeptPiece>,
        vocabulary: Vocabulary,
        budgets: Budgets,
        control: &Control,
    ) -> (Self, SharedSums, Keys) {
        let number = pieces.iter().map(|piece| piece.users().len()).sum();
        let rows = pieces.iter().flat_map(KeptPiece::users).map(<[u32]>::len).sum();
        let threads = parallel::threads_for(rows, control);
        let slots = Slots::assign(&pieces, vocabulary.code_bound(), threads);
        let digests = vocabulary.digests();
        let chunks = slots.codes().chunks(slots.len().div_ceil(threads).max(1));
        let of_shared = parallel::map(threads, chunks.collect(), |codes| digests_of(codes, &digests));
        let idle = Idle::default();
        let mut parts = parallel::map(threads, divided(pieces), |users| {
            let mut buffers = idle.take(Buffers::default);
            let part = Part::new(&users, &slots, (&digests, &budgets), &mut buffers);
            idle.put(buffers);
            part
        });
        let sums = SharedSums::new(slots.into_codes(), of_shared.concat());
        let keys = vocabulary.into_keys(control);
        parallel::map(threads, parts.iter_mut().collect(), |part: &mut Part| part.begin(&budgets));
        (Self { parts, budgets, number, rows }, sums, keys)
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
        let tally = control.tally(WEIGHING, self.number);
        let threads = parallel::threads_for(self.rows, control);
        let budgets = self.budgets.in_round(share);
        let round = Round { sums: sums.adding(threads), importances, budgets, deciding };
        let released = parallel::map(threads, self.parts.iter_mut().collect(), |part: &mut Part| {
            let (mut private, mut released) = (round.sums.take(), Vec::new());
            let result = part.run(&round, &mut private, &mut released);
            round.sums.put(private);
            tally.add(part.users());
            result.map(|()| released)
        });
        let private = round.sums.end();
        sums.merge(private, threads);
        control.check()?;
        Ok(released.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}
