//! Distinct (user, item) pairs, grouped by user.

use super::vocabulary::Vocabulary;
use crate::random::Digest;
use crate::runtime::memory::Array;

/// Distinct (user, item) pairs grouped by user, or all rows on their way to an order. They are not bounded yet, so they cannot be weighted.
#[derive(Debug)]
pub struct Contributions {
    /// Digest of each user.
    pub(crate) users: Vec<Digest>,
    /// `items[starts[u]..][..lens[u]]` are the user's items.
    pub(crate) starts: Vec<usize>,
    pub(crate) lens: Vec<u32>,
    pub(crate) items: Array<u32>,
    /// Whether each user's items stand in a requested [`super::ItemOrder`].
    pub(crate) in_order: bool,
    pub(crate) vocabulary: Vocabulary,
}

impl Contributions {
    /// The number of distinct items of each user. A user whose rows are all without an item has none.
    pub(crate) fn items_of_users(&self) -> impl Iterator<Item = u32> + '_ {
        self.lens.iter().copied()
    }

    /// The number of items for each number of users, as (users, items) in ascending order. These are exact counts,
    /// for data that is public anyway.
    pub(crate) fn users_per_item(&self) -> Vec<(u32, u64)> {
        let mut users = self.users_of_items();
        users.sort_unstable();
        let alike = users.chunk_by(|a, b| a == b).filter(|alike| alike[0] > 0);
        alike.map(|alike| (alike[0], alike.len() as u64)).collect()
    }

    /// Remove the rows of unwanted items. The remaining rows of a user depend on its own rows alone.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(Digest) -> bool) {
        let digests = self.vocabulary.digests_from(0..self.vocabulary.code_bound());
        let wanted: Vec<bool> = digests.into_iter().map(is_wanted).collect();
        let items = self.items.as_mut_slice();
        for (start, len) in self.starts.iter().zip(&mut self.lens) {
            let mut kept = 0;
            for read in *start..*start + *len as usize {
                let item = items[read];
                items[*start + kept as usize] = item;
                kept += u32::from(wanted[item as usize]);
            }
            *len = kept;
        }
    }

    /// The number of users of each item code.
    pub(crate) fn users_of_items(&self) -> Vec<u32> {
        let mut users = vec![0_u32; self.vocabulary.code_bound()];
        for (start, len) in self.starts.iter().zip(&self.lens) {
            let items = &self.items.as_slice()[*start..][..*len as usize];
            // Where every row is kept, rows of one item stand side by side.
            for rows in items.chunk_by(|a, b| a == b) {
                users[rows[0] as usize] += 1;
            }
        }
        users
    }
}
