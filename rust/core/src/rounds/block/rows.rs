//! The rows of items that several users keep.
//!
//! They stand by ranges of slots, and inside of a range in the order of users. So what is known of a range of items is read
//! and written for all users of a part together, in the fastest cache. Only what is known of users is read at random. They
//! are few enough for the second-level cache.

use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::bytes::{DAMAGED, ended, push, push_number, take, take_number};
use super::sums::{RANGE, SlotSums};
use crate::weighting::{Drift, FULL_IMPORTANCE, Spread, square};

/// Users of a block at most. Their numbers have 16 bits.
pub(in crate::rounds) const MOST_USERS: usize =
    if cfg!(any(test, feature = "testing")) { 50 } else { u16::MAX as usize };
const _: () = assert!(MOST_USERS < 1 << u16::BITS && size_of::<Row>() == 3);
/// Rows, and items, leave when more than one in so many has no importance.
pub(super) const LEAVE_AT: usize = 8;
/// Bytes of a row, and of a range that has rows.
pub(in crate::rounds) const BYTES: (usize, usize) = (size_of::<Row>() + size_of::<Drift>(), 4 + 4);

/// That a user keeps an item.
#[derive(Debug, Clone, Copy, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Row {
    /// Its number, counted from the first user of the block: as bytes, so that a row has three.
    user: [u8; 2],
    /// The place in the range.
    slot: u8,
}

/// The rows of a block of users.
#[derive(Debug, Default)]
pub(super) struct SharedRows {
    /// The ranges of slots that have rows, and where the rows of each end. If users have few items, most ranges have none.
    ranges: Vec<[u32; 2]>,
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
    /// Rows for these slots, one user after the other, each with as many as `lens` says. What users give need be known only
    /// if a cap `binds`.
    #[expect(clippy::cast_possible_truncation, reason = "the place in a range is meant")]
    pub(super) fn new(slots: &[u32], lens: impl Iterator<Item = usize>, binds: bool) -> Self {
        let last = slots.iter().max();
        let mut ends = vec![0; last.map_or(0, |last| *last as usize / RANGE + 1)];
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
        let ranges = with_rows.map(|((range, end), _)| [range, *end]).collect();
        Self { ranges, rows, given: Given::at_first(binds) }
    }

    /// Give other slots to the items: `slots` has one for each slot so far. The users are `users`.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] for an item without a slot, or when what users gave is known by row.
    pub(super) fn renumber(&mut self, slots: &[u32], users: usize) -> Result<()> {
        if matches!(self.given, Given::ByRow(_)) {
            return Err(DAMAGED);
        }
        // Where the rows of each user begin, until they are written: then it is where they end.
        let mut lens = vec![0; users];
        self.rows.iter().for_each(|row| lens[row.user()] += 1);
        let mut ends = Vec::with_capacity(users);
        lens.iter().fold(0, |before, len| {
            ends.push(before);
            before + len
        });
        let mut by_user = vec![0; self.rows.len()];
        for (range, places) in by_range(&self.ranges) {
            for row in &self.rows[places] {
                let end = &mut ends[row.user()];
                by_user[*end] = *slots.get(range * RANGE + row.place()).ok_or(DAMAGED)?;
                *end += 1;
            }
        }
        let given = std::mem::take(&mut self.given);
        *self = Self { given, ..Self::new(&by_user, lens.into_iter(), false) };
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether all rows are of slots below this one.
    pub(super) fn are_below(&self, slots: usize) -> bool {
        let Some((range, rows)) = by_range(&self.ranges).last() else { return true };
        let left = slots.saturating_sub(range * RANGE);
        left >= RANGE || left > 0 && self.rows[rows].iter().all(|row| row.place() < left)
    }

    /// Whether what is known of earlier rounds is what a round needs: nothing in the first one, and later what users gave, if
    /// a cap `binds`. Damaged bytes may say something else, and caps and norms would not hold.
    pub(super) fn are_ready(&self, is_first: bool, binds: bool) -> bool {
        match self.given {
            Given::Unknown => !binds,
            Given::Nothing => binds && is_first,
            Given::Equally(_) | Given::ByRow(_) => binds && !is_first,
        }
    }

    /// Add the squared importances of all items to those of their users. Rows of items without importance leave, if there
    /// are more than a few. Such an item is settled or abandoned, and gets no weight in any later round. Returns whether they
    /// do.
    pub(super) fn add_squares(&mut self, importances: &[[AtomicU16; RANGE]], squares: &mut [u64]) -> bool {
        let mut without_importance = 0;
        for (range, places) in by_range(&self.ranges) {
            let importances = &importances[range];
            for row in &self.rows[places] {
                let importance = importances[row.place()].load(Ordering::Relaxed);
                squares[row.user()] += square(importance);
                without_importance += usize::from(importance == 0);
            }
        }
        if without_importance * LEAVE_AT <= self.rows.len() {
            return false;
        }
        if let Given::ByRow(drifts) = &mut self.given {
            drop_rows(&mut self.ranges, &mut self.rows, importances, |left, at| drifts[left] = drifts[at]);
            drifts.truncate(self.rows.len());
        } else {
            drop_rows(&mut self.ranges, &mut self.rows, importances, |_, _| ());
        }
        true
    }

    /// Let the users give, each by its spread.
    ///
    /// # Contract
    /// In the first round all importances are full.
    pub(super) fn give(&mut self, importances: &[[AtomicU16; RANGE]], spreads: &[Spread], sums: &SlotSums) {
        let is_full = |importance: &AtomicU16| importance.load(Ordering::Relaxed) == FULL_IMPORTANCE;
        let full = || importances.as_flattened().iter().all(is_full);
        debug_assert!(!matches!(self.given, Given::Nothing) || full());
        let (mut of_thread, mut giving) = (sums.take(), self.given.begin_round(&self.rows, spreads));
        for (range, places) in by_range(&self.ranges) {
            let (importances, mut sums) = (&importances[range], sums.of_range(&mut of_thread, range));
            let importance = |row: &Row| importances[row.place()].load(Ordering::Relaxed);
            let rows = &self.rows[places.clone()];
            match &mut giving {
                Giving::Uncapped => {
                    for row in rows {
                        let spread = &spreads[row.user()];
                        sums.add(row.place(), spread.uncapped(importance(row)));
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
                        sums.add(row.place(), spread.weight(importance(row), drift));
                    }
                }
            }
            sums.end(rows.iter().map(|row| row.place()));
        }
        sums.put(of_thread);
    }

    /// Append who keeps what, and whether a cap binds.
    pub(super) fn pack_fixed(&self, packed: &mut Vec<u8>) {
        packed.push(u8::from(!matches!(self.given, Given::Unknown)));
        push_number(self.ranges.len(), packed);
        push_number(self.rows.len(), packed);
        push(&self.ranges, packed);
        push(&self.rows, packed);
    }

    /// Append what users gave.
    pub(super) fn pack_changing(&self, packed: &mut Vec<u8>) {
        let (form, drifts) = match &self.given {
            Given::Unknown | Given::Nothing => (AT_FIRST, &[][..]),
            Given::Equally(drifts) => (EQUALLY, drifts.as_slice()),
            Given::ByRow(drifts) => (BY_ROW, drifts.as_slice()),
        };
        packed.push(form);
        push(drifts, packed);
    }

    /// Read what [`SharedRows::pack_fixed`] wrote, of so many users. Nobody has given.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] if it is damaged.
    pub(super) fn read_fixed(&mut self, rest: &mut &[u8], users: usize) -> Result<()> {
        let (binds, tail) = rest.split_first().ok_or(DAMAGED)?;
        *rest = tail;
        self.given = Given::at_first(*binds > 0);
        let (ranges, rows) = (take_number(rest)?, take_number(rest)?);
        take(rest, ranges, &mut self.ranges)?;
        take(rest, rows, &mut self.rows)?;
        let end = self.ranges.last().map_or(0, |[_, end]| *end as usize);
        let in_order = self.ranges.is_sorted_by(|[range, end], [next, after]| range < next && end <= after);
        let last = self.rows.iter().map(|row| row.user()).max();
        let are_there = last.is_none_or(|last| last < users);
        if end == rows && in_order && are_there { Ok(()) } else { Err(DAMAGED) }
    }

    /// Read what [`SharedRows::pack_changing`] wrote.
    ///
    /// # Errors
    /// As there.
    pub(super) fn read_changing(&mut self, rest: &[u8], users: usize) -> Result<()> {
        let (form, mut rest) = rest.split_first().ok_or(DAMAGED)?;
        let (len, mut drifts) = (rest.len() / size_of::<Drift>(), Vec::new());
        take(&mut rest, len, &mut drifts)?;
        ended(rest)?;
        match *form {
            AT_FIRST if len == 0 => {}
            EQUALLY if len == users => self.given = Given::Equally(drifts),
            BY_ROW if len == self.rows.len() => self.given = Given::ByRow(drifts),
            _ => return Err(DAMAGED),
        }
        Ok(())
    }
}

/// What users gave, in bytes.
const AT_FIRST: u8 = 0;
const EQUALLY: u8 = 1;
const BY_ROW: u8 = 2;

/// Move the rows of items with importance to the front, and let the others leave. What else is known by row is moved by
/// `also`, from its second argument to its first.
fn drop_rows(
    ranges: &mut Vec<[u32; 2]>,
    rows: &mut Vec<Row>,
    importances: &[[AtomicU16; RANGE]],
    mut also: impl FnMut(usize, usize),
) {
    let (mut left, mut first) = (0, 0);
    ranges.retain_mut(|[range, end]| {
        let (before, importances) = (left, &importances[*range as usize]);
        // Without a branch: whether a row stays cannot be predicted.
        for at in first..*end as usize {
            let row = rows[at];
            rows[left] = row;
            also(left, at);
            left += usize::from(importances[row.place()].load(Ordering::Relaxed) > 0);
        }
        (first, *end) = (*end as usize, codes(left));
        left > before
    });
    rows.truncate(left);
}

impl Given {
    fn at_first(binds: bool) -> Self {
        if binds { Self::Nothing } else { Self::Unknown }
    }

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
fn by_range(ends: &[[u32; 2]]) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
    let mut first = 0;
    ends.iter().map(move |[range, end]| {
        let places = std::mem::replace(&mut first, *end as usize)..*end as usize;
        (*range as usize, places)
    })
}

#[cfg(test)]
impl SharedRows {
    /// Let so many users give something.
    pub(super) fn give_at_least_once(&mut self, users: usize) {
        let spread = crate::weighting::Allowance::new(1 << 20, 1 << 19).in_round(1 << 16).spread(1 << 17);
        self.given.begin_round(&self.rows, &vec![spread; users]);
    }

    /// The slot and the user of each row.
    pub(super) fn slots_and_users(&self) -> impl Iterator<Item = (u32, usize)> {
        by_range(&self.ranges).flat_map(|(range, of_range)| {
            let slot = move |row: &Row| codes(range * RANGE + row.place());
            self.rows[of_range].iter().map(move |row| (slot(row), row.user()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many users as a block can have, of one row and of two; and slots of which most ranges have no row.
    #[test]
    fn rows_have_the_users_they_came_from() {
        let lens: Vec<usize> = (0..usize::from(u16::MAX)).map(|user| 1 + user % 2).collect();
        let slots: Vec<u32> = (0..).take(lens.iter().sum()).map(|row: u32| row % 1000 * 5000).collect();
        let rows = SharedRows::new(&slots, lens.iter().copied(), false);
        assert_eq!((rows.ranges.len(), rows.rows.len()), (1000, slots.len()));
        let users = lens.iter().zip(0..).flat_map(|(len, user)| std::iter::repeat_n(user, *len));
        let mut expected: Vec<(u32, usize)> = slots.iter().copied().zip(users).collect();
        let mut found: Vec<(u32, usize)> = rows.slots_and_users().collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}
