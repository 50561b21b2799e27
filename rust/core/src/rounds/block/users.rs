//! A block of users: they give, and the items that they alone keep are decided.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use super::bytes::{DAMAGED, PackBlock, ended, push, push_number, take, take_number};
use super::descent::{Above, LoneLines};
use super::lone_items::AloneItems;
use super::round::BlockRound;
use super::rows::SharedRows;
use super::shared_table::SharedTable;
use crate::rounds::released::Released;
use crate::weighting::{Allowances, Spread};

/// Users with the items that they keep.
///
/// `N` is what a released item is called beside its digest: in memory a code, and elsewhere nothing.
#[derive(Debug, Default)]
pub struct UserBlock<N = ()> {
    /// The place of each user's allowance.
    allowances: Vec<u8>,
    /// Between rounds: the sum of the squared importances of the items that each user alone keeps.
    squares: Vec<u64>,
    /// The rows of items that other users keep, too.
    rows: SharedRows,
    alone: AloneItems<N>,
    is_shorter: bool,
}

/// What users keep, one user after the other.
#[derive(Debug)]
pub(in crate::rounds) struct Kept<'a, N> {
    /// The place of each user's allowance, as [`Allowances::short_place`].
    pub(in crate::rounds) allowances: Vec<u8>,
    /// How many shared items each user has, and how many that it alone keeps.
    pub(in crate::rounds) lens: &'a [(u32, u32)],
    /// The slots of shared items.
    pub(in crate::rounds) shared: &'a [u32],
    /// The names and digests of the others.
    pub(in crate::rounds) alone: (Vec<N>, Vec<Digest>),
    /// What stands above each of these, if items stand above others.
    pub(in crate::rounds) lines: Option<Vec<[Above; 2]>>,
}

impl<N: Copy + Default> UserBlock<N> {
    /// These users, of which there are at most [`super::MOST_USERS`]. [`UserBlock::begin`] comes before the first round.
    pub(in crate::rounds) fn new(kept: Kept<'_, N>, allowances: &Allowances) -> Self {
        let Kept { allowances: places, lens, shared, alone, lines } = kept;
        let binds = places.iter().any(|place| allowances.binds(usize::from(*place)));
        let rows = SharedRows::new(shared, lens.iter().map(|(shared, _)| *shared as usize), binds);
        let alone =
            AloneItems::new(alone, lens.iter().map(|(_, alone)| *alone as usize), lines.map(LoneLines::new));
        Self { allowances: places, squares: Vec::new(), rows, alone, is_shorter: false }
    }

    /// Make room for what rounds make of items.
    pub fn begin(&mut self) {
        self.alone.begin();
        self.find_squares();
    }

    fn find_squares(&mut self) {
        self.squares.clear();
        self.squares.resize(self.allowances.len(), 0);
        self.alone.add_squares(&mut self.squares);
    }

    /// Let the users give, and decide the items that they alone keep. Rows and items without importance leave, if there are
    /// more than a few.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] for an item that got far more than the norm of a user, or that is not there.
    pub fn run(
        &mut self,
        round: &BlockRound,
        shared: &SharedTable,
        released: &mut Vec<Released<N>>,
    ) -> Result<()> {
        let importances = shared.by_range();
        let is_ready = self.rows.are_ready(round.is_first, round.binds(&self.allowances));
        let slots = shared.number();
        if !is_ready || !self.rows.are_below(slots) || !self.alone.are_below(slots) {
            return Err(DAMAGED);
        }
        if self.alone.limit(shared.lines()) {
            self.find_squares();
        }
        self.is_shorter |= self.rows.add_squares(importances, &mut self.squares);
        let users = self.allowances.iter().zip(&mut self.squares);
        let spreads: Vec<Spread> =
            users.map(|(place, squares)| round.allowance(*place).spread(std::mem::take(squares))).collect();
        self.is_shorter |= self.alone.run(&spreads, &mut self.squares, round, released)?;
        self.rows.give(importances, &spreads, shared.sums());
        Ok(())
    }

    /// Give other slots to shared items: `slots` has one for each slot so far. This is once, before the second round.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] for an item without a slot, or later.
    pub fn renumber(&mut self, slots: &[u32]) -> Result<()> {
        self.alone.renumber(slots)?;
        self.rows.renumber(slots, self.allowances.len())
    }
}

/// Who holds what does not change. What users gave does, and what is known of items that one user alone holds.
impl PackBlock for UserBlock {
    fn pack_fixed(&self, packed: &mut Vec<u8>) {
        push_number(self.allowances.len(), packed);
        push(&self.allowances, packed);
        self.rows.pack_fixed(packed);
        self.alone.pack_fixed(packed);
    }

    fn pack_changing(&self, packed: &mut Vec<u8>) {
        self.alone.pack_changing(packed);
        self.rows.pack_changing(packed);
    }

    fn read(&mut self, mut fixed: &[u8], changing: Option<&[u8]>) -> Result<()> {
        let users = take_number(&mut fixed)?;
        self.is_shorter = false;
        take(&mut fixed, users, &mut self.allowances)?;
        self.rows.read_fixed(&mut fixed, users)?;
        self.alone.read_fixed(&mut fixed, users)?;
        ended(fixed)?;
        let Some(mut changing) = changing else {
            self.begin();
            return Ok(());
        };
        self.alone.read_changing(&mut changing)?;
        self.rows.read_changing(changing, users)?;
        self.find_squares();
        Ok(())
    }

    fn is_shorter(&self) -> bool {
        self.is_shorter
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.alone.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::block::sums::RANGE;
    use crate::weighting::Allowance;

    const BOTH: [bool; 2] = [false, true];

    fn each_block() -> impl Iterator<Item = (bool, UserBlock)> {
        BOTH.into_iter().flat_map(|binds| BOTH.map(|lines| (binds, block(binds, lines))))
    }

    /// Three users: with shared items and others, with shared ones only, and with others only.
    fn block(binds: bool, lines: bool) -> UserBlock {
        let cap = if binds { 1 << 19 } else { 1 << 20 };
        let allowances = Allowances::new(vec![(9, Allowance::new(1 << 20, cap))]);
        let alone = [5, 6, u128::MAX].map(Digest).to_vec();
        let kept = Kept {
            allowances: vec![0; 3],
            lens: &[(2, 2), (3, 0), (0, 1)],
            shared: &[7, 300, 7, 2, 301],
            alone: (vec![(); 3], alone),
            lines: lines.then(|| {
                vec![
                    [Above::Shared(7), Above::Nothing],
                    [Above::Alone(0), Above::Shared(2)],
                    [Above::Gone, Above::Nothing],
                ]
            }),
        };
        let mut block = UserBlock::new(kept, &allowances);
        block.begin();
        block
    }

    fn packed(block: &UserBlock) -> (Vec<u8>, Vec<u8>) {
        let (mut fixed, mut changing) = (Vec::new(), Vec::new());
        block.pack_fixed(&mut fixed);
        block.pack_changing(&mut changing);
        (fixed, changing)
    }

    #[test]
    fn users_come_back_from_their_bytes_and_half_of_them_is_an_error() {
        for (binds, mut block) in each_block() {
            let first = packed(&block);
            block.rows.give_at_least_once(3);
            let (fixed, changing) = packed(&block);
            assert_eq!((&fixed, changing != first.1), (&first.0, binds));
            let mut back = UserBlock::default();
            back.read(&fixed, Some(&changing)).unwrap();
            assert_eq!((packed(&back), &back.squares), ((fixed.clone(), changing.clone()), &block.squares));
            for len in 0..fixed.len() {
                assert!(back.read(&fixed[..len], Some(&changing)).is_err());
            }
            assert!(back.read(&fixed, Some(&changing[1..])).is_err());
            back.read(&fixed, None).unwrap();
            assert_eq!((packed(&back), back.squares), (first, block.squares.clone()));
            let (mut whole, mut back) = (Vec::new(), UserBlock::default());
            block.pack(&mut whole);
            back.unpack(&whole).unwrap();
            assert_eq!(packed(&back), (fixed, changing));
            assert!((0..whole.len()).all(|len| back.unpack(&whole[..len]).is_err()));
        }
    }

    #[test]
    fn what_users_gave_fits_the_round() {
        for (binds, mut block) in each_block() {
            assert!(block.rows.are_ready(true, binds) && !block.rows.are_ready(true, !binds));
            assert_eq!(block.rows.are_ready(false, binds), !binds);
            block.rows.give_at_least_once(3);
            assert!(block.rows.are_ready(false, binds) && !block.rows.are_ready(false, !binds));
            assert_eq!(block.rows.are_ready(true, binds), !binds);
        }
    }

    #[test]
    fn other_slots_are_given_once() {
        let mut block = block(true, true);
        let mut slots: Vec<u32> = (0..).take(302).collect();
        (slots[7], slots[2], slots[300], slots[301]) = (1000, 0, 3, 999);
        block.renumber(&slots).unwrap();
        assert!(
            block.rows.are_below(1001) && !block.rows.are_below(1000) && !block.rows.are_below(3 * RANGE)
        );
        assert!(block.alone.are_below(1001) && !block.alone.are_below(1000));
        let found: Vec<_> = block.rows.slots_and_users().collect();
        assert_eq!(found, [(3, 0), (0, 1), (1000, 0), (1000, 1), (999, 1)]);
        block.rows.give_at_least_once(3);
        assert!(block.renumber(&slots[..900.min(slots.len())]).is_err(), "there is no slot for 1000");
        block.rows.give_at_least_once(3);
        assert!(block.renumber(&slots).is_err(), "what users gave is known by row");
    }
}
