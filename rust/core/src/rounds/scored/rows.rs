//! The rows of items that several users keep.
//!
//! They stand by ranges of slots, and inside of a range in the order of users. So what is known of a range of items is read
//! and written for all users of a part together, in the fastest cache. The places that are hit at random are those of the
//! users, who are few enough for the next one.

use std::ops::Range;

use super::division::MOST_USERS;
use super::slots::RANGE;
use super::sums::Adding;
use crate::numeric::widths::codes;
use crate::weighting::{Drift, FULL_IMPORTANCE, Spread, square};

const _: () = assert!(MOST_USERS < 1 << u16::BITS && RANGE == 1 << u8::BITS && size_of::<Row>() == 3);
/// Items or rows leave when more than one in so many has no importance.
pub(super) const LEAVE_AT: usize = 8;
/// Bytes of a row, and of a range that has rows.
pub(super) const BYTES: (usize, usize) = (size_of::<Row>() + size_of::<Drift>(), 4 + 4);

/// That a user keeps an item.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// The bytes of its number, counted from the first user of the part.
    user: [u8; 2],
    /// The place in the range.
    slot: u8,
}

/// Rows of a part of the users.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The ranges of slots that have rows, and where the rows of each end. If users have few items, most ranges have none.
    ranges: Vec<(u32, u32)>,
    entries: Vec<Row>,
    given: Given,
}

/// What users gave to items in earlier rounds.
#[derive(Debug, Default)]
enum Given {
    /// It need not be known, since no cap binds.
    #[default]
    Unknown,
    /// Before the first round.
    Nothing,
    /// In the first round, in which all items have full importance, each user gives the same to all of its items. The
    /// weights, and the drifts after the round, by user. Most rows leave before there are drifts by row.
    Equally { weights: Vec<u32>, drifts: Vec<Drift> },
    /// By row.
    ByRow(Vec<Drift>),
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
        let mut entries = vec![Row::default(); slots.len()];
        let mut rest = slots;
        // In this order, so that no number is asked for after the last user.
        for (len, user) in lens.zip(0..) {
            let (own, others) = rest.split_at(len);
            for slot in own {
                let at = &mut ends[*slot as usize / RANGE];
                entries[*at as usize] = Row { user: u16::to_ne_bytes(user), slot: *slot as u8 };
                *at += 1;
            }
            rest = others;
        }
        let mut before = 0;
        let has_rows = |(_, end): &(u32, u32)| std::mem::replace(&mut before, *end) < *end;
        let ranges = (0..).zip(ends).filter(has_rows).collect();
        Self { ranges, entries, given: Given::Unknown }
    }

    /// Know from now on what users give. It is needed only if a cap binds.
    pub(super) fn begin(&mut self) {
        self.given = Given::Nothing;
    }

    /// Add the squared importances of all items to those of their users. Rows of items without importance leave, if there
    /// are more than a few. Such an item is settled or abandoned, and gets no weight in any later round.
    pub(super) fn add_squares(&mut self, importances: &[[u16; RANGE]], squares: &mut [u64]) {
        let mut without_importance = 0;
        for (range, rows) in ranges(&self.ranges) {
            let importances = &importances[range];
            for row in &self.entries[rows] {
                let importance = importances[row.place()];
                squares[row.user()] += square(importance);
                without_importance += usize::from(importance == 0);
            }
        }
        if without_importance * LEAVE_AT <= self.entries.len() {
            return;
        }
        let mut given = std::mem::take(&mut self.given);
        if let Given::ByRow(drifts) = &mut given {
            self.drop_rows::<true>(importances, drifts);
        } else {
            self.drop_rows::<false>(importances, &mut Vec::new());
        }
        self.given = given;
    }

    /// Move the rows that stay to the front, with their drifts if they have some.
    fn drop_rows<const DRIFTS: bool>(&mut self, importances: &[[u16; RANGE]], drifts: &mut Vec<Drift>) {
        let (mut left, mut first) = (0, 0);
        self.ranges.retain_mut(|(range, end)| {
            let (before, importances) = (left, &importances[*range as usize]);
            // Without a branch: whether a row stays cannot be predicted.
            for at in first..*end as usize {
                let row = self.entries[at];
                self.entries[left] = row;
                if DRIFTS {
                    drifts[left] = drifts[at];
                }
                left += usize::from(importances[row.place()] > 0);
            }
            (first, *end) = (*end as usize, codes(left));
            left > before
        });
        self.entries.truncate(left);
        drifts.truncate(left);
    }

    /// Let the users give, each by its spread.
    ///
    /// # Contract
    /// In the first round all importances are full.
    pub(super) fn give(
        &mut self,
        importances: &[[u16; RANGE]],
        spreads: &[Spread],
        (sums, of_thread): (&Adding<'_>, &mut [u32]),
    ) {
        self.given.begin_round(&self.entries, spreads);
        for (range, places) in ranges(&self.ranges) {
            let (importances, mut sums) = (&importances[range], sums.of_range(of_thread, range));
            let rows = &self.entries[places.clone()];
            match &mut self.given {
                Given::Unknown | Given::Nothing => {
                    for row in rows {
                        let spread = &spreads[row.user()];
                        sums.add(row.place(), spread.uncapped(importances[row.place()]));
                    }
                }
                Given::Equally { weights, .. } => {
                    for row in rows {
                        sums.add(row.place(), weights[row.user()]);
                    }
                }
                Given::ByRow(drifts) => {
                    for (row, drift) in rows.iter().zip(&mut drifts[places]) {
                        let spread = &spreads[row.user()];
                        sums.add(row.place(), spread.weight(importances[row.place()], drift));
                    }
                }
            }
            sums.end(rows.iter().map(|row| row.place()));
        }
    }
}

impl Given {
    /// Before users give in a round: what they gave in the rounds before, and in the first round what they give in it.
    fn begin_round(&mut self, rows: &[Row], spreads: &[Spread]) {
        match self {
            Self::Unknown | Self::ByRow(_) => {}
            Self::Nothing => {
                let mut drifts = vec![0; spreads.len()];
                let weight = |(spread, drift): (&Spread, _)| spread.weight(FULL_IMPORTANCE, drift);
                let weights = spreads.iter().zip(&mut drifts).map(weight).collect();
                *self = Self::Equally { weights, drifts };
            }
            Self::Equally { drifts, .. } => {
                *self = Self::ByRow(rows.iter().map(|row| drifts[row.user()]).collect());
            }
        }
    }
}

impl Row {
    /// The number of the user.
    #[inline]
    fn user(self) -> usize {
        u16::from_ne_bytes(self.user).into()
    }

    /// The place in its range.
    #[inline]
    fn place(self) -> usize {
        self.slot.into()
    }
}

/// The number of each range that has rows, and where these stand.
fn ranges(ends: &[(u32, u32)]) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
    let mut first = 0;
    ends.iter().map(move |(range, end)| {
        let rows = std::mem::replace(&mut first, *end as usize)..*end as usize;
        (*range as usize, rows)
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
        assert_eq!((rows.ranges.len(), rows.entries.len()), (1000, slots.len()));
        let users = lens.iter().zip(0..).flat_map(|(len, user)| std::iter::repeat_n(user, *len));
        let mut expected: Vec<(u32, usize)> = slots.iter().copied().zip(users).collect();
        let found = ranges(&rows.ranges).flat_map(|(range, of_range)| {
            let slot = move |row: Row| codes(range * RANGE + row.place());
            rows.entries[of_range].iter().map(move |row| (slot(*row), row.user()))
        });
        let mut found: Vec<(u32, usize)> = found.collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}
