//! Which items stand above which: the lines of descent of a tree.
//!
//! What is above an item is a public function of its key. Whoever has an item has all items above it.

use std::collections::HashMap;

use dpsel_exact::random::Digest;

use crate::ingest::ItemCode;

/// For each item code, the item directly above it, and its level.
#[derive(Debug, Default)]
pub struct Lineage {
    /// The code above each code; [`Lineage::NONE`] at the top.
    pub(super) above: Vec<u32>,
    /// The level of each item, from 1.
    pub(super) levels: Vec<u8>,
    /// The digests of items that have some below them.
    pub(super) inner: HashMap<u32, Digest>,
}

impl Lineage {
    /// No item stands above.
    pub const NONE: u32 = u32::MAX;

    /// The item directly above one.
    #[inline]
    #[must_use]
    pub fn above(&self, item: u32) -> Option<u32> {
        Some(self.above[item as usize]).filter(|above| *above != Self::NONE)
    }

    /// The level of an item, from 1. An item stands lower than those above it.
    #[inline]
    #[must_use]
    pub fn level(&self, item: u32) -> u8 {
        self.levels[item as usize]
    }

    /// All items above one, with their digests, from below.
    pub fn line(&self, item: u32) -> impl Iterator<Item = (ItemCode, Digest)> + '_ {
        let codes = std::iter::successors(self.above(item), |above| self.above(*above));
        codes.filter_map(|code| Some((ItemCode(code), *self.inner.get(&code)?)))
    }

    /// Whether an item or one above it is marked.
    pub(super) fn is_below(&self, item: u32, marked: &[bool]) -> bool {
        marked[item as usize] || self.line(item).any(|(above, _)| marked[above.index()])
    }

    /// Marked items are no longer above others. All items above a marked one are marked.
    pub(super) fn cut(&mut self, marked: &[bool]) {
        for above in &mut self.above {
            if *above != Self::NONE && marked[*above as usize] {
                *above = Self::NONE;
            }
        }
    }
}
