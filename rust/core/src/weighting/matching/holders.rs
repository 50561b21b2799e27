//! The users of each item: the kept items of all users, turned around.

use crate::Result;
use crate::bounding::BoundedContributions;
use crate::runtime::Control;
use crate::runtime::memory::Array;

/// The users who keep each item, by code.
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
    pub(super) fn of(contributions: &BoundedContributions, control: &Control) -> Result<Self> {
        let codes = contributions.vocabulary().code_bound();
        let mut starts = vec![0; codes + 1];
        for user in 0..contributions.users() {
            for &item in contributions.kept_items(user) {
                starts[item as usize] += 1;
            }
        }
        control.check()?;
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut users = Array::zeroed(sum);
        let places = users.as_mut_slice();
        // `starts` holds the ends. The last user of an item goes to its end, and each earlier one before it.
        for (user, number) in (0..contributions.users()).zip(0_u32..) {
            for &item in contributions.kept_items(user) {
                let place = &mut starts[item as usize];
                *place -= 1;
                places[*place] = number;
            }
        }
        control.check()?;
        Ok(Self { starts, users })
    }

    /// The users who keep an item.
    #[inline]
    pub(super) fn users_of(&self, item: u32) -> &[u32] {
        let item = item as usize;
        &self.users.as_slice()[self.starts[item]..self.starts[item + 1]]
    }

    /// Number of codes.
    pub(super) fn codes(&self) -> usize {
        self.starts.len() - 1
    }
}
