//! A set of items.

use crate::contributions::ItemCode;

/// A set of item codes as a bitmap.
#[derive(Debug, Clone)]
pub(crate) struct ItemSet(Vec<u64>);

impl ItemSet {
    /// The empty set of codes below `code_bound`.
    pub(crate) fn new(code_bound: usize) -> Self {
        Self(vec![0; code_bound.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, item: ItemCode) {
        self.0[item.index() / 64] |= 1 << (item.index() % 64);
    }

    pub(crate) fn contains(&self, item: ItemCode) -> bool {
        self.0[item.index() / 64] >> (item.index() % 64) & 1 == 1
    }
}
