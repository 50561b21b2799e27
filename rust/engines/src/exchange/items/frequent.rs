//! User counts are added up, and only the counts of frequent items are kept.
//!
//! Items with the same item hash are added up together, and a row that two tasks read may count twice. Both can only
//! make the counts larger, and they are upper bounds, so the released items stay the same.

use dpsel_exact::Result;

use super::sum::{OnItems, Sum};
use crate::exchange::wire::{push_frequent, unpack_user_counts};

/// The work of the stage that finds the frequent items: those with more users than this.
#[derive(Debug)]
pub struct FrequentItems(u32);

impl FrequentItems {
    /// The stage. Items with more users than this are frequent.
    #[must_use]
    pub fn above(users: u32) -> Sum<Self, u32, u32> {
        Sum::of(Self(users), unpack_user_counts)
    }
}

impl OnItems<u32, u32> for FrequentItems {
    fn run(&mut self, items: &[(u32, u32)], packed: &mut Vec<u8>) -> Result<()> {
        let frequent = items.iter().filter(|(_, users)| *users > self.0);
        frequent.for_each(|(hash, users)| push_frequent(*hash, *users, packed));
        Ok(())
    }
}
