//! What rounds released.

use crate::contributions::{ItemCode, Vocabulary};
use crate::runtime::Control;

/// The items that the rounds released.
#[derive(Debug)]
pub struct Selected {
    /// Each released item with its noisy weight in grid steps (0 where weights were not asked for).
    pub(crate) items: Vec<(ItemCode, i64)>,
    pub(super) vocabulary: Vocabulary,
}

impl Selected {
    /// The keys of the items.
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Give the memory back, on several threads.
    pub(crate) fn free(self, control: &Control) {
        self.vocabulary.free(control);
    }
}
