//! Which items stand above which: the lines of descent of a tree, or of n-grams.
//!
//! What is above an item is a public function of its key. Whoever has an item has all items above it.

use std::collections::{HashMap, HashSet};

use dpsel_exact::random::Digest;

use crate::ingest::ItemCode;

/// For each item code, the items directly above it, and its level.
#[derive(Debug, Default)]
pub struct Lineage {
    /// The codes directly above each: at most one in a tree, and two of n-grams.
    pub(super) above: Vec<[u32; 2]>,
    /// The level of each item, from 1.
    pub(super) levels: Vec<u8>,
    /// The digests of items that have some below them.
    pub(super) inner: HashMap<u32, Digest>,
    /// Whether an item was removed: it stands above none.
    pub(super) removed: Vec<bool>,
}

impl Lineage {
    /// No item stands above.
    pub const NONE: u32 = u32::MAX;

    /// Append the item of the next code, with the items directly above it.
    pub fn push(&mut self, level: u8, above: impl IntoIterator<Item = u32>) {
        let mut codes = [Self::NONE; 2];
        codes.iter_mut().zip(above).for_each(|(place, code)| *place = code);
        self.above.push(codes);
        self.levels.push(level);
    }

    /// Forget all items, and keep the memory.
    pub fn clear(&mut self) {
        self.above.clear();
        self.levels.clear();
        self.inner.clear();
        self.removed.clear();
    }

    /// The codes of the items from 0 on, for each whether it is removed: such an item stands above none.
    pub fn remove(&mut self, removed: Vec<bool>) {
        self.removed = removed;
    }

    /// Number of codes.
    #[must_use]
    pub fn codes(&self) -> usize {
        self.levels.len()
    }

    /// The items directly above one that were not removed.
    #[inline]
    pub fn above(&self, item: u32) -> impl Iterator<Item = u32> + '_ {
        self.all_above(item).filter(|above| !self.is_removed(*above))
    }

    /// The items directly above one, with those that were removed.
    #[inline]
    fn all_above(&self, item: u32) -> impl Iterator<Item = u32> + use<> {
        self.above[item as usize].into_iter().filter(|above| *above != Self::NONE)
    }

    fn is_removed(&self, item: u32) -> bool {
        self.removed.get(item as usize).is_some_and(|removed| *removed) // Otherwise: none was.
    }

    /// The level of an item, from 1. An item stands lower than those above it.
    #[inline]
    #[must_use]
    pub fn level(&self, item: u32) -> u8 {
        self.levels[item as usize]
    }

    /// All items above some that are not among these, and were not removed, with their digests.
    #[must_use]
    pub fn others_above(&self, items: impl Iterator<Item = ItemCode>) -> Vec<(ItemCode, Digest)> {
        let mut left: Vec<u32> = items.map(|item| item.0).collect();
        let mut known: HashSet<u32> = left.iter().copied().collect();
        let mut others = Vec::new();
        while let Some(item) = left.pop() {
            for above in self.all_above(item).filter(|above| known.insert(*above)) {
                left.push(above);
                let digest = self.inner.get(&above).filter(|_| !self.is_removed(above));
                others.extend(digest.map(|digest| (ItemCode(above), *digest)));
            }
        }
        others
    }

    /// Whether an item or one above it is marked.
    pub(super) fn is_below(&self, item: u32, marked: &[bool]) -> bool {
        marked[item as usize] || self.all_above(item).any(|above| self.is_below(above, marked))
    }
}
