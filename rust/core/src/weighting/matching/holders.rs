//! The users of each item: the kept items of all users, turned around.

use super::offers::Offers;
use crate::Result;
use crate::bounding::BoundedContributions;
use crate::runtime::Control;
use crate::runtime::memory::Array;

/// The users who keep each item. Items are numbered by their turns.
#[derive(Debug)]
pub(super) struct Holders {
    /// `users[starts[i]..starts[i + 1]]` keep the item `i`.
    starts: Vec<usize>,
    users: Array<u32>,
}

impl Holders {
    /// Turn the kept items around.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn of(
        contributions: &BoundedContributions,
        offers: Offers,
        control: &Control,
    ) -> Result<(Self, Vec<u32>)> {
        let mut sum = 0;
        let mut starts = Vec::with_capacity(offers.items().len() + 1);
        starts.extend(offers.holders().map(|holders| {
            sum += holders as usize;
            sum
        }));
        starts.push(sum);
        let mut users = Array::zeroed(sum);
        let places = users.as_mut_slice();
        let (turns, order) = offers.into_turns();
        // `starts` holds the ends. The last user of an item goes to its end, and each earlier one before it.
        for (user, number) in (0..contributions.users()).zip(0_u32..) {
            for &item in contributions.kept_items(user) {
                let place = &mut starts[turns[item as usize] as usize];
                *place -= 1;
                places[*place] = number;
            }
        }
        control.check()?;
        Ok((Self { starts, users }, order))
    }

    /// The users who keep an item.
    #[inline]
    pub(super) fn users_of(&self, item: u32) -> &[u32] {
        let item = item as usize;
        &self.users.as_slice()[self.starts[item]..self.starts[item + 1]]
    }

    /// Number of items.
    pub(super) fn items(&self) -> usize {
        self.starts.len() - 1
    }
}
