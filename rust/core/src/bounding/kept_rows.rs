//! The kept items of all users, one user after the other.

use std::ops::Range;

use crate::contributions::{Piece, Start};
use crate::runtime::parallel;

/// The kept items of users who keep the same items in all rounds.
///
/// # Contract
/// The users of a piece have their items without gaps from the first one on.
#[derive(Debug)]
pub(crate) struct KeptRows {
    /// The number of items of each user.
    pub(crate) lens: Vec<u32>,
    pub(crate) pieces: Vec<Piece>,
    /// Number of all items at first. Those that leave later are counted, too.
    pub(crate) rows: usize,
}

impl KeptRows {
    /// The first `bound` items of each user, moved together piece by piece.
    pub(super) fn new(starts: &[Start], mut lens: Vec<u32>, pieces: Vec<Piece>, bound: u32) -> Self {
        for len in &mut lens {
            *len = (*len).min(bound);
        }
        let pieces = pieces.into_iter().map(|Piece { users, mut items, .. }| {
            let (all, mut rows) = (items.as_mut_slice(), 0);
            for (start, len) in starts[users.clone()].iter().zip(&lens[users.clone()]) {
                let start = start.at as usize;
                all.copy_within(start..start + *len as usize, rows);
                rows += *len as usize;
            }
            Piece { users, items, len: rows }
        });
        let pieces: Vec<Piece> = pieces.collect();
        let rows = pieces.iter().map(|piece| piece.len).sum();
        Self { lens, pieces, rows }
    }

    /// Show every row, one user after the other.
    pub(crate) fn for_each_item(&mut self, show: impl FnMut(&mut u32)) {
        self.pieces.iter_mut().flat_map(|piece| &mut piece.items.as_mut_slice()[..piece.len]).for_each(show);
    }

    /// Show the items of every user, one user after the other.
    pub(crate) fn for_each_user(&mut self, mut show: impl FnMut(&mut [u32])) {
        for piece in &mut self.pieces {
            let mut rest = piece.items.as_mut_slice();
            for len in &self.lens[piece.users.clone()] {
                let (own, others) = rest.split_at_mut(*len as usize);
                show(own);
                rest = others;
            }
        }
    }
}

/// `count` consecutive ranges of positions of about equal total size.
pub(super) fn ranges(sizes: impl ExactSizeIterator<Item = u32> + Clone, count: usize) -> Vec<Range<usize>> {
    let mut first = 0;
    let ends = parallel::balanced_ends(sizes, count).into_iter();
    ends.map(|end| std::mem::replace(&mut first, end)..end).collect()
}
