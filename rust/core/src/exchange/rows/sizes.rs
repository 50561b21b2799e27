//! How much a task takes together. That decides its memory and what it sends, and no release.

/// The most that a task takes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Rows of users, which take up to about a hundred bytes each.
    pub(crate) rows: usize,
    /// Weights that are added up before they are sent, which take up to about 120 bytes each. The more wait, the fewer
    /// move.
    pub(crate) weights: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { rows: 1 << 23, weights: 1 << 22 }
    }
}
