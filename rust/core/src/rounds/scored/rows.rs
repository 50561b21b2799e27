//! The rows of items that several users keep.
//!
//! They stand by ranges of slots, not by user. So what is known of a range of items is read and written for all users of a
//! part together, in the fastest cache. The places that are hit at random are those of the users, who are few enough for
//! the next one.

use std::ops::Range;

use super::sums::Adding;
use crate::numeric::widths::codes;
use crate::weighting::{Drift, Spread};

/// Users of a part at most. Their numbers have 16 bits.
pub(super) const USERS: usize = if cfg!(test) { 50 } else { 1 << 13 };
const _: () = assert!(USERS <= 1 << u16::BITS);
/// Slots of a range. Inside of it a slot has 8 bits, and rows are in no order.
pub(super) const RANGE: usize = 1 << u8::BITS;
/// Rows leave when one in so many has no importance.
const LEAVE: usize = 8;

/// Rows of a part of the users: one entry of each column.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Where the rows of each range of slots end.
    ends: Vec<u32>,
    /// The slot in its range.
    slots: Vec<u8>,
    /// The user, counted from the first one of the part.
    users: Vec<u16>,
    /// What the user gave to the item, if some user has a cap that binds.
    drifts: Vec<Drift>,
    /// Rows of items that had no importance in the last round.
    without: usize,
}

impl Rows {
    /// The slots of these users, one user after the other, each with as many as `lens` says. All are below `bound`.
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
        let mut columns = (vec![0; slots.len()], vec![0; slots.len()]);
        let mut rest = slots;
        for (user, len) in (0..).zip(lens) {
            let (own, others) = rest.split_at(len);
            for slot in own {
                let at = &mut ends[*slot as usize / RANGE];
                (columns.0[*at as usize], columns.1[*at as usize]) = (*slot as u8, user);
                *at += 1;
            }
            rest = others;
        }
        Self { ends, slots: columns.0, users: columns.1, ..Self::default() }
    }

    /// Have a place for what users give.
    pub(super) fn begin(&mut self) {
        self.drifts = vec![0; self.slots.len()];
    }

    /// Add the squared importances of all items to those of their users. Rows of items without importance leave, if they
    /// are more than a few.
    pub(super) fn add_squares(&mut self, importances: &[u16], squares: &mut [u64]) {
        if self.without * LEAVE > self.slots.len() {
            if self.drifts.is_empty() {
                self.drop_rows::<false>(importances);
            } else {
                self.drop_rows::<true>(importances);
            }
        }
        self.without = 0;
        for (importances, rows) in ranges(&self.ends, importances) {
            for (slot, user) in self.slots[rows.clone()].iter().zip(&self.users[rows]) {
                let importance = importances[usize::from(*slot)];
                squares[usize::from(*user)] += u64::from(importance) * u64::from(importance);
                self.without += usize::from(importance == 0);
            }
        }
    }

    /// Move the rows that stay to the front.
    fn drop_rows<const DRIFTS: bool>(&mut self, importances: &[u16]) {
        let (mut left, mut first) = (0, 0);
        for (end, importances) in self.ends.iter_mut().zip(importances.chunks(RANGE)) {
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
        }
        self.slots.truncate(left);
        self.users.truncate(left);
        self.drifts.truncate(left);
    }

    /// Let the users give, each by its spread.
    pub(super) fn give(
        &mut self,
        importances: &[u16],
        spreads: &[Spread<'_>],
        (sums, private): (&Adding<'_>, &mut [u32]),
    ) {
        for (first, (importances, rows)) in (0..).step_by(RANGE).zip(ranges(&self.ends, importances)) {
            let mut sums = sums.of_range(private, first..first + importances.len());
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

/// The importances of each range of slots, and its rows.
fn ranges<'a>(ends: &'a [u32], importances: &'a [u16]) -> impl Iterator<Item = (&'a [u16], Range<usize>)> {
    let mut first = 0;
    let rows = ends.iter().map(move |end| std::mem::replace(&mut first, *end as usize)..*end as usize);
    importances.chunks(RANGE).zip(rows)
}
