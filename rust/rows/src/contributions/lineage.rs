//! Which items stand above which: the lines of descent of a tree, or of n-grams.
//!
//! What is above an item is a public function of its key. Whoever has an item has all items above it.

use std::collections::{HashMap, HashSet};

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;
use dpsel_exact::random::bytes::{CORRUPT, push_integer, take_integer};

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
    /// Bytes of an item while its line is found, at most.
    pub const BYTES: usize = 112;
    /// No item stands above.
    pub const NONE: u32 = u32::MAX;

    /// Append the item of the next code, with the items directly above it.
    pub fn push(&mut self, level: u8, above: impl IntoIterator<Item = u32>) {
        let mut codes = [Self::NONE; 2];
        codes.iter_mut().zip(above).for_each(|(place, code)| *place = code);
        self.above.push(codes);
        self.levels.push(level);
    }

    /// Append all items to a buffer: of each four times its level plus the number of items directly above it, and how far
    /// before it each of these stands, as integers of variable length.
    ///
    /// # Contract
    /// Items stand behind those above them.
    pub fn pack(&self, packed: &mut Vec<u8>) {
        for item in 0..codes(self.levels.len()) {
            push_integer(u64::from(self.level(item)) << 2 | self.above(item).count() as u64, packed);
            self.above(item).for_each(|above| push_integer((item - above).into(), packed));
        }
    }

    /// Take so many items that [`Lineage::pack`] wrote off the front.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] if they are damaged.
    pub fn take(items: u32, packed: &mut &[u8]) -> Result<Self> {
        let mut lineage = Self::default();
        for item in 0..items {
            let both = take_integer(packed)?;
            let (level, mut above) = (u8::try_from(both >> 2).map_err(|_| CORRUPT)?, [None; 2]);
            for place in above.get_mut(..index(both & 3)).ok_or(CORRUPT)? {
                let before = u32::try_from(take_integer(packed)?).map_err(|_| CORRUPT)?;
                let is_above = |above: &u32| *above < item && lineage.level(*above) < level;
                *place = Some(item.checked_sub(before).filter(is_above).ok_or(CORRUPT)?);
            }
            lineage.push(level, above.into_iter().flatten());
        }
        Ok(lineage)
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
