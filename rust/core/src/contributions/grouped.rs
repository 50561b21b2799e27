//! Distinct (user, item) pairs, grouped by user.

use super::pieces::{Piece, Start, change_items};
use super::vocabulary::Vocabulary;
use crate::random::Digest;

/// Distinct (user, item) pairs grouped by user, or all rows on their way to an order. They are not bounded yet, so they cannot be weighted.
#[derive(Debug)]
pub struct Contributions {
    /// Digest of each user.
    pub(crate) users: Vec<Digest>,
    /// Where the items of each user start, and how many they are: see [`Self::items_of`].
    pub(crate) starts: Vec<Start>,
    pub(crate) lens: Vec<u32>,
    pub(crate) pieces: Vec<Piece>,
    /// Number of rows that were grouped.
    pub(crate) rows: usize,
    /// Whether each user's items stand in a requested [`super::ItemOrder`].
    pub(crate) in_order: bool,
    pub(crate) vocabulary: Vocabulary,
}

impl Contributions {
    /// The items of a user.
    #[inline]
    pub(crate) fn items_of(&self, user: usize) -> &[u32] {
        let Start { piece, at } = self.starts[user];
        &self.pieces[piece as usize].items.as_slice()[at as usize..][..self.lens[user] as usize]
    }

    /// The items of each user.
    pub(crate) fn items_by_user(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.users.len()).map(|user| self.items_of(user))
    }

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
        change_items(&mut self.pieces, &self.starts, &mut self.lens, |items| {
            let mut kept = 0;
            for read in 0..items.len() {
                let item = items[read];
                items[kept as usize] = item;
                kept += u32::from(wanted[item as usize]);
            }
            kept
        });
    }

    /// The number of users of each item code.
    pub(crate) fn users_of_items(&self) -> Vec<u32> {
        let mut users = vec![0_u32; self.vocabulary.code_bound()];
        for items in self.items_by_user() {
            // Where every row is kept, rows of one item stand side by side.
            for rows in items.chunk_by(|a, b| a == b) {
                users[rows[0] as usize] += 1;
            }
        }
        users
    }
}
