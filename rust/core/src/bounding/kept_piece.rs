//! The kept items of users, in pieces of memory.

use std::ops::Range;

use crate::contributions::{Piece, Start};
use crate::numeric::widths::index;
use crate::runtime::memory::Array;
use crate::runtime::parallel;

/// The kept items of consecutive users who keep the same items in all rounds.
#[derive(Debug)]
pub(crate) struct KeptPiece {
    /// Where the kept items of each user begin, in rising order, and their number.
    users: Vec<(u32, u32)>,
    items: Array<u32>,
}

impl KeptPiece {
    /// The first `bound` items of each user of a piece, from the starts and numbers of items of all users.
    pub(super) fn new(piece: Piece, starts: &[Start], lens: &[u32], bound: u32) -> Self {
        let Piece { users, items, .. } = piece;
        let kept = starts[users.clone()].iter().zip(&lens[users]);
        let kept = kept.map(|(start, len)| (start.at, (*len).min(bound)));
        Self { users: kept.collect(), items }
    }

    /// The items of each user.
    pub(crate) fn users(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        let items = self.items.as_slice();
        self.users.iter().map(move |(at, len)| &items[index((*at).into())..][..index((*len).into())])
    }
}

/// `count` consecutive ranges of positions of about equal total size.
pub(super) fn ranges(sizes: impl ExactSizeIterator<Item = u32> + Clone, count: usize) -> Vec<Range<usize>> {
    let mut first = 0;
    let ends = parallel::balanced_ends(sizes, count).into_iter();
    ends.map(|end| std::mem::replace(&mut first, end)..end).collect()
}
