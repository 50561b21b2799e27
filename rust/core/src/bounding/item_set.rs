//! A set of items.

use dpsel_rows::contributions::ItemCode;

const WORD: usize = u64::BITS as usize;

/// A set of item codes as a bitmap, up to the largest of them.
#[derive(Debug, Clone)]
pub struct ItemSet {
    /// One word more than the largest code needs. It stays zero, and all larger codes are looked up there. So the set is
    /// small if its items are frequent: these have small codes.
    words: Vec<u64>,
}

impl Default for ItemSet {
    /// The empty set.
    fn default() -> Self {
        Self { words: vec![0] }
    }
}

impl ItemSet {
    /// Put an item in.
    /// Put an item in.
    pub fn insert(&mut self, item: ItemCode) {
        let word = item.index() / WORD;
        self.words.resize(self.words.len().max(word + 2), 0);
        self.words[word] |= 1 << (item.index() % WORD);
    }

    /// Whether an item is in it.
    /// Whether an item is in it.
    #[inline]
    #[must_use]
    pub fn contains(&self, item: ItemCode) -> bool {
        let word = (item.index() / WORD).min(self.words.len() - 1);
        self.words[word] >> (item.index() % WORD) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_inserted() {
        let (mut set, mut codes) = (ItemSet::default(), vec![]);
        for code in [70, 5, 64, 5, 6400, 63, 127] {
            assert!((0..7000).all(|code| set.contains(ItemCode(code)) == codes.contains(&code)));
            assert!(!set.contains(ItemCode(u32::MAX)));
            set.insert(ItemCode(code));
            codes.push(code);
        }
        assert!((0..7000).all(|code| set.contains(ItemCode(code)) == codes.contains(&code)));
    }
}
