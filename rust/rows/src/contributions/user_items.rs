//! Distinct (user, item) pairs, grouped by user.

use dpsel_exact::random::Digest;

use super::pieces::{Piece, Start, change_items};
use super::vocabulary::Vocabulary;

/// Distinct (user, item) pairs grouped by user, or all rows on their way to an order. They are not bounded yet, so they cannot be weighted.
#[derive(Debug)]
pub struct Contributions {
    /// Digest of each user.
    pub users: Vec<Digest>,
    /// Where the items of each user start, and how many they are: see [`Self::items_of`].
    pub starts: Vec<Start>,
    /// How many items each user has.
    pub lens: Vec<u32>,
    /// Where they stand.
    pub pieces: Vec<Piece>,
    /// Number of rows that were grouped.
    pub rows: usize,
    /// Whether each user's items stand in a requested [`super::ItemOrder`].
    pub in_order: bool,
    /// The digests of items, and keys that these do not tell.
    pub vocabulary: Vocabulary,
}

impl Contributions {
    /// The items of a user.
    #[inline]
    #[must_use]
    pub fn items_of(&self, user: usize) -> &[u32] {
        let Start { piece, at } = self.starts[user];
        &self.pieces[piece as usize].items.as_slice()[at as usize..][..self.lens[user] as usize]
    }

    /// The items of each user.
    pub fn items_by_user(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.users.len()).map(|user| self.items_of(user))
    }

    /// The number of distinct items of each user. A user whose rows are all without an item has none.
    pub fn items_of_users(&self) -> impl Iterator<Item = u32> + '_ {
        self.lens.iter().copied()
    }

    /// The number of items for each number of users, as (users, items) in ascending order. These are exact counts,
    /// for data that is public anyway.
    #[must_use]
    pub fn users_per_item(&self) -> Vec<(u32, u64)> {
        let mut users = self.users_of_items();
        users.sort_unstable();
        let alike = users.chunk_by(|a, b| a == b).filter(|alike| alike[0] > 0);
        alike.map(|alike| (alike[0], alike.len() as u64)).collect()
    }

    /// Remove the rows of items that are public, and those of excluded ones. With an excluded node of a tree all nodes below
    /// it are removed, and no public node counts as one above others.
    ///
    /// # Contract
    /// With a node all nodes above it are public.
    pub fn remove(&mut self, is_excluded: impl Fn(Digest) -> bool, is_public: impl Fn(Digest) -> bool) {
        let digests = self.vocabulary.digests_from(0..self.vocabulary.code_bound());
        let excluded: Vec<bool> = digests.iter().map(|digest| is_excluded(*digest)).collect();
        let public: Vec<bool> = digests.into_iter().map(is_public).collect();
        let mut removed: Vec<bool> = excluded.iter().zip(&public).map(|(a, b)| *a || *b).collect();
        if let Some(lineage) = &mut self.vocabulary.keys.lineage {
            for (item, removed) in (0_u32..).zip(&mut removed) {
                *removed |= lineage.is_below(item, &excluded);
            }
            lineage.removed.clone_from(&removed);
        }
        self.keep(|item| !removed[item as usize]);
    }

    /// Remove the rows of unwanted items. The remaining rows of a user depend on its own rows alone.
    pub fn retain(&mut self, is_wanted: impl Fn(Digest) -> bool) {
        let digests = self.vocabulary.digests_from(0..self.vocabulary.code_bound());
        let wanted: Vec<bool> = digests.into_iter().map(is_wanted).collect();
        self.keep(|item| wanted[item as usize]);
    }

    /// Keep the rows of wanted items.
    fn keep(&mut self, is_wanted: impl Fn(u32) -> bool) {
        change_items(&mut self.pieces, &self.starts, &mut self.lens, |items| {
            let mut kept = 0;
            for read in 0..items.len() {
                let item = items[read];
                items[kept as usize] = item;
                kept += u32::from(is_wanted(item));
            }
            kept
        });
    }

    /// The number of users of each item code.
    #[must_use]
    pub fn users_of_items(&self) -> Vec<u32> {
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
