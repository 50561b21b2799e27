//! The rows of items that several users keep.
//!
//! They stand by ranges of slots, and inside of a range in the order of users. So what is known of a range of items is read
//! and written for all users of a part together, in the fastest cache. Only what is known of users is read at random. They
//! are few enough for the second-level cache.

use std::ops::Range;

use super::division::MOST_USERS;
use super::slots::RANGE;
use super::sums::Adding;
use crate::numeric::widths::codes;
use crate::weighting::{Drift, FULL_IMPORTANCE, Spread, square};

const _: () = assert!(MOST_USERS < 1 << u16::BITS && size_of::<Row>() == 3);
/// Rows, and items of one user, leave when more than one in so many has no importance.
pub(super) const LEAVE_AT: usize = 8;
/// Bytes of a row, and of a range that has rows.
pub(super) const BYTES: (usize, usize) = (size_of::<Row>() + size_of::<Drift>(), 4 + 4);

/// That a user keeps an item.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// Its number, counted from the first user of the part: as bytes, so that a row has three.
    user: [u8; 2],
    /// The place in the range.
    slot: u8,
}

/// The rows of a part of the users.
#[derive(Debug, Default)]
pub(super) struct SharedRows {
    /// The ranges of slots that have rows, and where the rows of each end. If users have few items, most ranges have none.
    ranges: Vec<(u32, u32)>,
    rows: Vec<Row>,
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
    /// After the first round: by user. All items had full importance in it, so a user gave the same to each of them.
    Equally(Vec<Drift>),
    /// After more rounds: by row. Many rows leave before the second round, and need none.
    ByRow(Vec<Drift>),
}

/// How users give in a round.
enum Giving<'a> {
    /// By importance alone.
    Uncapped,
    /// The same to each item: by user.
    Equally(Vec<u32>),
    /// Up to the cap, less what was given before: by row.
    Capped(&'a mut [Drift]),
}

impl SharedRows {
    /// Rows for these slots, one user after the other, each with as many as `lens` says. All slots are below `bound`.
    #[expect(clippy::cast_possible_truncation, reason = "the place in a range is meant")]
    pub(super) fn new(slots: &[u32], lens: impl Iterator<Item = usize>, bound: usize) -> Self {
        let mut ends = vec![0; bound.div_ceil(RANGE)];
        for slot in slots {
            ends[*slot as usize / RANGE] += 1;
        }
        // Where the rows of each range begin, until they are written: then it is where they end.
        let mut rows_before = 0;
        for end in &mut ends {
            (*end, rows_before) = (rows_before, rows_before + *end);
        }
        let mut rows = vec![Row::default(); slots.len()];
        let mut rest = slots;
        // Lengths first: numbers are taken one ahead, and none is left after the last user.
        for (len, user) in lens.zip(0..) {
            let (own, others) = rest.split_at(len);
            for slot in own {
                let at = &mut ends[*slot as usize / RANGE];
                rows[*at as usize] = Row { user: u16::to_ne_bytes(user), slot: *slot as u8 };
                *at += 1;
            }
            rest = others;
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let with_rows = (0..).zip(&ends).zip(starts).filter(|((_, end), start)| **end > *start);
        let ranges = with_rows.map(|((range, end), _)| (range, *end)).collect();
        Self { ranges, rows, given: Given::Unknown }
    }

    /// Know from now on what users give. It is needed only if a cap binds.
    pub(super) fn begin(&mut self) {
        self.given = Given::Nothing;
    }

    /// Add the squared importances of all items to those of their users. Rows of items without importance leave, if there
    /// are more than a few. Such an item is settled or abandoned, and gets no weight in any later round.
    pub(super) fn add_squares(&mut self, importances: &[[u16; RANGE]], squares: &mut [u64]) {
        let mut without_importance = 0;
        for (range, places) in by_range(&self.ranges) {
            let importances = &importances[range];
            for row in &self.rows[places] {
                let importance = importances[row.place()];
                squares[row.user()] += square(importance);
                without_importance += usize::from(importance == 0);
            }
        }
        if without_importance * LEAVE_AT <= self.rows.len() {
            return;
        }
        if let Given::ByRow(drifts) = &mut self.given {
            drop_rows(&mut self.ranges, &mut self.rows, importances, |left, at| drifts[left] = drifts[at]);
            drifts.truncate(self.rows.len());
        } else {
            drop_rows(&mut self.ranges, &mut self.rows, importances, |_, _| ());
        }
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
        let full = || importances.as_flattened().iter().all(|importance| *importance == FULL_IMPORTANCE);
        debug_assert!(!matches!(self.given, Given::Nothing) || full());
        let mut giving = self.given.begin_round(&self.rows, spreads);
        for (range, places) in by_range(&self.ranges) {
            let (importances, mut sums) = (&importances[range], sums.of_range(of_thread, range));
            let rows = &self.rows[places.clone()];
            match &mut giving {
                Giving::Uncapped => {
                    for row in rows {
                        let spread = &spreads[row.user()];
                        sums.add(row.place(), spread.uncapped(importances[row.place()]));
                    }
                }
                Giving::Equally(weights) => {
                    for row in rows {
                        sums.add(row.place(), weights[row.user()]);
                    }
                }
                Giving::Capped(drifts) => {
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

/// Move the rows of items with importance to the front, and let the others leave. What else is known by row is moved by
/// `also`, from its second argument to its first.
fn drop_rows(
    ranges: &mut Vec<(u32, u32)>,
    rows: &mut Vec<Row>,
    importances: &[[u16; RANGE]],
    mut also: impl FnMut(usize, usize),
) {
    let (mut left, mut first) = (0, 0);
    ranges.retain_mut(|(range, end)| {
        let (before, importances) = (left, &importances[*range as usize]);
        // Without a branch: whether a row stays cannot be predicted.
        for at in first..*end as usize {
            let row = rows[at];
            rows[left] = row;
            also(left, at);
            left += usize::from(importances[row.place()] > 0);
        }
        (first, *end) = (*end as usize, codes(left));
        left > before
    });
    rows.truncate(left);
}

impl Given {
    /// How users give in the next round. What they give in the first one is known from here on.
    fn begin_round(&mut self, rows: &[Row], spreads: &[Spread]) -> Giving<'_> {
        match self {
            Self::Unknown => Giving::Uncapped,
            Self::Nothing => {
                let mut drifts = vec![0; spreads.len()];
                let weight = |(spread, drift): (&Spread, _)| spread.weight(FULL_IMPORTANCE, drift);
                let weights = spreads.iter().zip(&mut drifts).map(weight).collect();
                *self = Self::Equally(drifts);
                Giving::Equally(weights)
            }
            Self::Equally(drifts) => {
                *self = Self::ByRow(rows.iter().map(|row| drifts[row.user()]).collect());
                self.begin_round(rows, spreads)
            }
            Self::ByRow(drifts) => Giving::Capped(drifts),
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
fn by_range(ends: &[(u32, u32)]) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
    let mut first = 0;
    ends.iter().map(move |(range, end)| {
        let places = std::mem::replace(&mut first, *end as usize)..*end as usize;
        (*range as usize, places)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many users as a part can have, of one row and of two; and slots of which most ranges have no row.
    #[test]
    fn rows_have_the_users_they_came_from() {
        let lens: Vec<usize> = (0..usize::from(u16::MAX)).map(|user| 1 + user % 2).collect();
        let slots: Vec<u32> = (0..).take(lens.iter().sum()).map(|row: u32| row % 1000 * 5000).collect();
        let rows = SharedRows::new(&slots, lens.iter().copied(), 1000 * 5000);
        assert_eq!((rows.ranges.len(), rows.rows.len()), (1000, slots.len()));
        let users = lens.iter().zip(0..).flat_map(|(len, user)| std::iter::repeat_n(user, *len));
        let mut expected: Vec<(u32, usize)> = slots.iter().copied().zip(users).collect();
        let found = by_range(&rows.ranges).flat_map(|(range, of_range)| {
            let slot = move |row: Row| codes(range * RANGE + row.place());
            rows.rows[of_range].iter().map(move |row| (slot(*row), row.user()))
        });
        let mut found: Vec<(u32, usize)> = found.collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}
