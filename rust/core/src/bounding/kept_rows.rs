//! The kept items of all users, one user after the other.

use std::ops::Range;

use crate::runtime::memory::Array;
use crate::runtime::{Control, parallel};

/// The kept items of users who keep the same items in all rounds.
///
/// # Contract
/// The users of a part have their items without gaps from the first row of the part on.
#[derive(Debug)]
pub(crate) struct KeptRows {
    /// Item codes.
    pub(crate) items: Array<u32>,
    /// The number of items of each user.
    pub(crate) lens: Vec<u32>,
    /// Consecutive users, and their first row.
    pub(crate) parts: Vec<(Range<usize>, usize)>,
}

impl KeptRows {
    /// The first `bound` items of each user, moved together part by part.
    pub(super) fn new(
        starts: &[usize],
        mut lens: Vec<u32>,
        mut items: Array<u32>,
        bound: u32,
        control: &Control,
    ) -> Self {
        for len in &mut lens {
            *len = (*len).min(bound);
        }
        let rows = items.as_slice();
        let threads = parallel::threads_for(rows.len(), control);
        let users = ranges(lens.iter().copied(), parallel::parts_for(threads));
        let first_row = |users: &Range<usize>| match users.start {
            0 => 0,
            // Otherwise: there is no user, and no row.
            user => starts.get(user).copied().unwrap_or(rows.len()),
        };
        let parts: Vec<_> = users.into_iter().map(|users| (users.clone(), first_row(&users))).collect();
        let items_of = items.as_mut_slice();
        for (users, first_row) in &parts {
            let mut to = *first_row;
            for user in users.clone() {
                let (start, len) = (starts[user], lens[user] as usize);
                items_of.copy_within(start..start + len, to);
                to += len;
            }
        }
        Self { items, lens, parts }
    }
}

impl KeptRows {
    /// Show every row, one user after the other.
    pub(crate) fn for_each_item(&mut self, mut show: impl FnMut(&mut u32)) {
        let items = self.items.as_mut_slice();
        for (users, first_row) in &self.parts {
            let rows: usize = self.lens[users.clone()].iter().map(|len| *len as usize).sum();
            items[*first_row..][..rows].iter_mut().for_each(&mut show);
        }
    }

    /// Show the items of every user, one user after the other.
    pub(crate) fn for_each_user(&mut self, mut show: impl FnMut(&mut [u32])) {
        for (users, first_row) in &self.parts {
            let mut rest = &mut self.items.as_mut_slice()[*first_row..];
            for len in &self.lens[users.clone()] {
                let (own, others) = rest.split_at_mut(*len as usize);
                show(own);
                rest = others;
            }
        }
    }
}

/// `count` consecutive ranges of users of about equal total size.
pub(super) fn ranges(sizes: impl ExactSizeIterator<Item = u32> + Clone, count: usize) -> Vec<Range<usize>> {
    let mut first = 0;
    let ends = parallel::balanced_ends(sizes, count).into_iter();
    ends.map(|end| std::mem::replace(&mut first, end)..end).collect()
}
