//! The order of scored rounds: the one loop of memory and disk. Spark's driver asks it after each of its jobs.

use dpsel_exact::{Error, Result};
use dpsel_rows::runtime::Control;

use super::items::ItemBlock;
use super::round::BlockRound;
use super::shared_table::SharedTable;
use super::users::UserBlock;
use crate::rounds::released::Released;

/// Released items: those that one user alone keeps, and shared ones by slot.
pub(crate) type AloneAndShared<N> = (Vec<Released<N>>, Vec<Released<u32>>);

/// Blocks, wherever they stand.
pub trait Blocks<B> {
    /// Do `work` with every block, on several threads, and collect what comes of it. After the last round no block is kept.
    ///
    /// # Errors
    /// Those of `work`, and of where the blocks stand; an interruption.
    fn each<R: Send>(
        &mut self,
        is_last: bool,
        work: impl Fn(&mut B, &mut Vec<R>) -> Result<()> + Sync,
    ) -> Result<Vec<R>>;
}

/// The rounds that are left, and the items that users share.
///
/// In each round users give, here by [`Driver::run`] or in tasks of Spark. Then [`Driver::decide`] decides the shared items.
#[derive(Debug)]
pub struct Driver<I> {
    rounds: std::vec::IntoIter<BlockRound>,
    shared: SharedTable,
    items: I,
}

impl<I: Blocks<ItemBlock>> Driver<I> {
    /// Before the first of these rounds. The items are blocks before the first round, of all slots.
    pub fn new(rounds: Vec<BlockRound>, shared: SharedTable, items: I) -> Self {
        Self { rounds: rounds.into_iter(), shared, items }
    }

    /// What users need to know of shared items in the next round.
    pub fn shared(&self) -> &SharedTable {
        &self.shared
    }

    /// The same, to add what users give.
    pub fn shared_mut(&mut self) -> &mut SharedTable {
        &mut self.shared
    }

    /// The blocks of shared items.
    pub fn items_mut(&mut self) -> &mut I {
        &mut self.items
    }

    /// The shared items, when no round is left.
    pub(crate) fn into_parts(self) -> (SharedTable, I) {
        (self.shared, self.items)
    }

    /// All users have given: decide the shared items, and steer the next round. Returns those that the last round releases,
    /// by slot; `None` if there are more rounds.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more users than noise may be added for; [`Error::Internal`] after the last round; those of
    /// [`Blocks::each`].
    pub fn decide(&mut self) -> Result<Option<Vec<Released<u32>>>> {
        let Self { rounds, shared, items } = self;
        let round = rounds.next().ok_or(Error::Internal("there is no such round"))?;
        shared.add_up();
        let shared = &*shared;
        let released = items.each(round.is_last(), |block, released| block.run(&round, shared, released))?;
        shared.limit();
        Ok(round.is_last().then_some(released))
    }

    /// Run all rounds. Returns the released items that one user alone keeps, and the shared ones by slot.
    ///
    /// # Errors
    /// As [`Driver::decide`].
    pub fn run<N: Copy + Default + Send>(
        &mut self,
        users: &mut impl Blocks<UserBlock<N>>,
        control: &Control,
    ) -> Result<AloneAndShared<N>> {
        loop {
            let (rounds, shared) = (self.rounds.as_slice(), &self.shared);
            let round = rounds.first().ok_or(Error::Internal("there is no such round"))?;
            let alone = users.each(round.is_last(), |block, released| block.run(round, shared, released))?;
            let released = self.decide()?;
            control.check()?;
            control.end_phase();
            if let Some(shared) = released {
                return Ok((alone, shared));
            }
        }
    }
}
