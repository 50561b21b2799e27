//! Users come into blocks with the items that they keep.

use super::users::Users;
use crate::accounting::L0Bound;
use crate::bounding::Priorities;
use crate::random::{CodedWords, Digest, ReleaseKey};
use crate::weighting::Budgets;

/// Bounds users.
#[derive(Debug)]
pub(crate) struct Bounded {
    bound: usize,
    priorities: Priorities,
    budgets: Budgets,
}

impl Bounded {
    pub(crate) fn new(bound: L0Bound, key: &ReleaseKey, budgets: Budgets) -> Self {
        Self { bound: bound.get() as usize, priorities: Priorities::new(key), budgets }
    }

    /// Add a user with the places of its distinct items, of which it keeps those of the first priorities. `item` says
    /// for the place of an item what [`Users::add`] gets. `keyed` is a buffer.
    ///
    /// A user without a budget is left out: it gives nothing in any round.
    pub(crate) fn add(
        &self,
        (items, user, mut places): (&[Digest], Digest, &mut [u32]),
        item: impl FnMut(&u32) -> Result<u32, Digest>,
        (users, keyed): (&mut Users, &mut CodedWords),
    ) {
        if places.len() > self.bound {
            self.priorities.order(user, places, |place| items[place as usize], self.bound, keyed);
            places = &mut places[..self.bound];
        }
        let Some(budget) = self.budgets.short_place(places.len()) else { return };
        if !places.is_empty() {
            users.add(budget, places.iter().map(item));
        }
    }
}
