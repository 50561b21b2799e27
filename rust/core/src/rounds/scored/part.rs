//! A part of the users: they give, and the items that they alone keep are decided.

use super::alone_items::AloneItems;
use super::deciding::ScoredDecider;
use super::division::KeptPart;
use super::rows::SharedRows;
use super::slots::{RANGE, Slots};
use super::sums::Adding;
use crate::Result;
use crate::contributions::Digests;
use crate::numeric::widths::codes;
use crate::rounds::selected::Released;
use crate::weighting::{Budgets, RoundBudget, Spread};

/// Consecutive users with their items.
#[derive(Debug)]
pub(super) struct Part {
    /// The place of each user's budget; none if no budget is for so many items.
    budgets: Vec<Option<u8>>,
    /// Between rounds: the sum of the squared importances of the items that each user alone keeps.
    squares: Vec<u64>,
    /// The rows of items that other users keep, too.
    rows: SharedRows,
    alone: AloneItems,
}

/// What all threads share in a round.
pub(super) struct Inputs<'a> {
    pub(super) sums: Adding<'a>,
    /// Of shared items, by range of slots.
    pub(super) importances: &'a [[u16; RANGE]],
    pub(super) budgets: Vec<RoundBudget>,
    pub(super) decider: ScoredDecider<'a>,
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
        users: &KeptPart,
        slots: &Slots,
        (digests, budgets): (&Digests<'_>, &Budgets),
        Buffers { shared, alone }: &mut Buffers,
    ) -> Self {
        let place = |items: &[u32]| budgets.short_place(items.len());
        let places = users.items().map(place).collect();
        let rows = users.rows();
        shared.resize(rows.max(shared.len()), 0);
        alone.resize(rows.max(alone.len()), 0);
        let (mut shared_end, mut alone_end) = (0, 0);
        // How many items of each user have slots, and how many have none.
        let mut lens = Vec::with_capacity(users.len());
        for items in users.items() {
            let with_slot = slots.separate(items, &mut shared[shared_end..], &mut alone[alone_end..]);
            let others = items.len() - with_slot;
            lens.push((codes(with_slot), codes(others)));
            (shared_end, alone_end) = (shared_end + with_slot, alone_end + others);
        }
        let rows = SharedRows::new(
            &shared[..shared_end],
            lens.iter().map(|(shared, _)| *shared as usize),
            slots.len(),
        );
        let alone = &alone[..alone_end];
        let of_alone = lens.iter().map(|(_, alone)| *alone as usize);
        let alone = AloneItems::new(alone.to_vec(), digests.of(alone), of_alone);
        Self { budgets: places, squares: Vec::new(), rows, alone }
    }

    /// Number of users.
    pub(super) fn users(&self) -> usize {
        self.budgets.len()
    }

    /// Make room for what rounds make of items, and know from now on what users give if a cap binds.
    pub(super) fn begin(&mut self, budgets: &Budgets) {
        self.squares = vec![0; self.budgets.len()];
        self.alone.begin(&mut self.squares);
        if self.budgets.iter().flatten().any(|place| budgets.binds((*place).into())) {
            self.rows.begin();
        }
    }

    /// Let the users give, and decide the items that they alone keep.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] for an item that got far more than the norm of a user.
    pub(super) fn run(
        &mut self,
        round: &Inputs<'_>,
        of_thread: &mut [u32],
        released: &mut Vec<Released>,
    ) -> Result<()> {
        self.rows.add_squares(round.importances, &mut self.squares);
        let spread = |(place, squares): (&Option<u8>, &mut u64)| {
            let budget = match place {
                Some(place) => &round.budgets[usize::from(*place)],
                None => &RoundBudget::NOTHING,
            };
            budget.spread(std::mem::take(squares))
        };
        let spreads: Vec<Spread> = self.budgets.iter().zip(&mut self.squares).map(spread).collect();
        self.alone.run(&spreads, &mut self.squares, round.decider, released)?;
        self.rows.give(round.importances, &spreads, (&round.sums, of_thread));
        Ok(())
    }
}
