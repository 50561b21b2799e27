//! The rows of items that several users keep.
//!
//! They stand by ranges of slots, not by user, and inside of a range in no order. So what is known of a range of items is read and written for all users of a
//! part together, in the fastest cache. The places that are hit at random are those of the users, who are few enough for
//! the next one.

use std::ops::Range;

use super::division::MOST_USERS;
use super::slots::RANGE;
use super::sums::Adding;
use crate::numeric::widths::codes;
use crate::weighting::{Drift, Spread, square};

const _: () = assert!(MOST_USERS < 1 << u16::BITS);
/// Items or rows leave when more than one in so many has no importance.
pub(super) const LEAVE_AT: usize = 8;
/// Bytes of a row, and of a range that has rows.
pub(super) const BYTES: (usize, usize) = (1 + 2 + size_of::<Drift>(), 4 + 4);

/// Rows of a part of the users: one entry of each column.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The ranges of slots that have rows, and where the rows of each end. If users have few items, most ranges have none.
    ranges: Vec<(u32, u32)>,
    /// The slot in its range.
    slots: Vec<u8>,
    /// The user, counted from the first one of the part.
    users: Vec<u16>,
    /// What the user gave to the item, if some user has a cap that binds.
    drifts: Vec<Drift>,
    /// Rows of items that had no importance in the last round.
    without_importance: usize,
}

impl Rows {
    /// Rows for these slots, one user after the other, each with as many as `lens` says. All slots are below `bound`.
    #[expect(clippy::cast_possible_truncation, reason = "the place in a range is meant")]
    pub(super) fn new(slots: &[u32], lens: impl Iterator<Item = usize>, bound: usize) -> Self {
        let mut ends = vec![0; bound.div_ceil(RANGE)];
        for slot in slots {
            ends[*slot as usize / RANGE] += 1;
        }
        let mut before = 0;
        for number in &mut ends {
            (*number, before) = (before, before + *number);
        }
        let (mut in_range, mut users) = (vec![0; slots.len()], vec![0; slots.len()]);
        let mut rest = slots;
        // In this order, so that no number is asked for after the last user.
        for (len, user) in lens.zip(0..) {
            let (own, others) = rest.split_at(len);
            for slot in own {
                let at = &mut ends[*slot as usize / RANGE];
                (in_range[*at as usize], users[*at as usize]) = (*slot as u8, user);
                *at += 1;
            }
            rest = others;
        }
        let mut before = 0;
        let has_rows = |(_, end): &(u32, u32)| std::mem::replace(&mut before, *end) < *end;
        let ranges: Vec<(u32, u32)> = (0..).zip(ends).filter(has_rows).collect();
        Self { ranges, slots: in_range, users, ..Self::default() }
    }

    /// Make room for what users give. It is needed only if a cap binds.
    pub(super) fn begin(&mut self) {
        self.drifts = vec![0; self.slots.len()];
    }

    /// Let the rows of items without importance leave, if there are more than a few. Such an item is settled or abandoned,
    /// and gets no weight in any later round.
    pub(super) fn compact(&mut self, importances: &[u16]) {
        if self.without_importance * LEAVE_AT <= self.slots.len() {
            return;
        }
        if self.drifts.is_empty() {
            self.drop_rows::<false>(importances);
        } else {
            self.drop_rows::<true>(importances);
        }
    }

    /// Move the rows that stay to the front.
    fn drop_rows<const DRIFTS: bool>(&mut self, importances: &[u16]) {
        let (mut left, mut first) = (0, 0);
        self.ranges.retain_mut(|(range, end)| {
            let (before, importances) = (left, &importances[slots_of(*range, importances.len())]);
            // Without a branch: whether a row stays cannot be predicted.
            for at in first..*end as usize {
                let slot = self.slots[at];
                (self.slots[left], self.users[left]) = (slot, self.users[at]);
                if DRIFTS {
                    self.drifts[left] = self.drifts[at];
                }
                left += usize::from(importances[usize::from(slot)] > 0);
            }
            (first, *end) = (*end as usize, codes(left));
            left > before
        });
        self.slots.truncate(left);
        self.users.truncate(left);
        self.drifts.truncate(left);
    }

    /// Add the squared importances of all items to those of their users.
    pub(super) fn add_squares(&mut self, importances: &[u16], squares: &mut [u64]) {
        self.without_importance = 0;
        for (range, rows) in ranges(&self.ranges, importances.len()) {
            let importances = &importances[range];
            for (slot, user) in self.slots[rows.clone()].iter().zip(&self.users[rows]) {
                let importance = importances[usize::from(*slot)];
                squares[usize::from(*user)] += square(importance);
                self.without_importance += usize::from(importance == 0);
            }
        }
    }

    /// Let the users give, each by its spread.
    pub(super) fn give(
        &mut self,
        importances: &[u16],
        spreads: &[Spread],
        (sums, of_thread): (&Adding<'_>, &mut [u32]),
    ) {
        for (range, rows) in ranges(&self.ranges, importances.len()) {
            let (importances, mut sums) = (&importances[range.clone()], sums.of_range(of_thread, range));
            let columns = self.slots[rows.clone()].iter().zip(&self.users[rows.clone()]);
            if self.drifts.is_empty() {
                for (slot, user) in columns {
                    let importance = importances[usize::from(*slot)];
                    sums.add(*slot, spreads[usize::from(*user)].uncapped(importance));
                }
            } else {
                for ((slot, user), drift) in columns.zip(&mut self.drifts[rows]) {
                    let importance = importances[usize::from(*slot)];
                    sums.add(*slot, spreads[usize::from(*user)].weight(importance, drift));
                }
            }
        }
    }
}

/// The slots of a range, of which there are `all` together.
fn slots_of(range: u32, all: usize) -> Range<usize> {
    let first = range as usize * RANGE;
    first..all.min(first + RANGE)
}

/// The slots of each range that has rows, and these rows.
fn ranges(ends: &[(u32, u32)], all: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + '_ {
    let mut first = 0;
    ends.iter().map(move |(range, end)| {
        let rows = std::mem::replace(&mut first, *end as usize)..*end as usize;
        (slots_of(*range, all), rows)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many users as their numbers can tell apart, of one row and of two; and slots of which most ranges have no row.
    #[test]
    fn rows_have_the_users_they_came_from() {
        let lens: Vec<usize> = (0..usize::from(u16::MAX)).map(|user| 1 + user % 2).collect();
        let slots: Vec<u32> = (0..).take(lens.iter().sum()).map(|row: u32| row % 1000 * 5000).collect();
        let rows = Rows::new(&slots, lens.iter().copied(), 1000 * 5000);
        assert_eq!((rows.ranges.len(), rows.users.len()), (1000, slots.len()));
        let users = lens.iter().zip(0_u16..).flat_map(|(len, user)| std::iter::repeat_n(user, *len));
        let mut expected: Vec<(u32, u16)> = slots.iter().copied().zip(users).collect();
        let found = ranges(&rows.ranges, 1000 * 5000).flat_map(|(range, of_range)| {
            let slot = move |at: u8| codes(range.start + usize::from(at));
            of_range.map(|row| (slot(rows.slots[row]), rows.users[row])).collect::<Vec<_>>()
        });
        let mut found: Vec<(u32, u16)> = found.collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}
