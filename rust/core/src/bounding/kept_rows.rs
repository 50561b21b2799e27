//! The kept items of all users, one user after the other.

use std::ops::Range;

use crate::contributions::{Piece, Start};
use crate::runtime::memory::Array;
use crate::runtime::parallel;

/// The kept items of users who keep the same items in all rounds.
#[derive(Debug)]
pub(crate) struct KeptRows {
    /// The number of items of each user.
    pub(crate) lens: Vec<u32>,
    pub(crate) parts: Vec<KeptPart>,
    /// Number of all items at first. Those that leave later are counted, too.
    pub(crate) rows: usize,
}

/// The kept items of consecutive users.
///
/// # Contract
/// The users have their items without gaps from the first one on.
#[derive(Debug)]
pub(crate) struct KeptPart {
    pub(crate) users: Range<usize>,
    /// Item codes, and others behind them that mean nothing.
    pub(crate) items: Array<u32>,
    /// Number of items at first.
    pub(crate) rows: usize,
}

impl KeptRows {
    /// The first `bound` items of each user, moved together piece by piece.
    pub(super) fn new(starts: &[Start], mut lens: Vec<u32>, pieces: Vec<Piece>, bound: u32) -> Self {
        for len in &mut lens {
            *len = (*len).min(bound);
        }
        let parts = pieces.into_iter().map(|Piece { users, mut items, .. }| {
            let (all, mut rows) = (items.as_mut_slice(), 0);
            for (start, len) in starts[users.clone()].iter().zip(&lens[users.clone()]) {
                let start = start.at as usize;
                all.copy_within(start..start + *len as usize, rows);
                rows += *len as usize;
            }
            KeptPart { users, items, rows }
        });
        let parts: Vec<KeptPart> = parts.collect();
        let rows = parts.iter().map(|part| part.rows).sum();
        Self { lens, parts, rows }
    }

    /// Show every row, one user after the other.
    pub(crate) fn for_each_item(&mut self, show: impl FnMut(&mut u32)) {
        self.parts.iter_mut().flat_map(|part| &mut part.items.as_mut_slice()[..part.rows]).for_each(show);
    }

    /// Show the items of every user, one user after the other.
    pub(crate) fn for_each_user(&mut self, mut show: impl FnMut(&mut [u32])) {
        for part in &mut self.parts {
            let mut rest = part.items.as_mut_slice();
            for len in &self.lens[part.users.clone()] {
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
