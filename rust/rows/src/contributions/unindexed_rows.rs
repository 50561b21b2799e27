//! Rows on their way to the disk, without a table of users and items.
//!
//! Where the rows of a user stand side by side, a table of all rows in memory saves nothing: each user is in it once, and
//! its items are looked up for nothing. Where rows are scattered among many users, a user has a few rows in a table. To put
//! them together later takes more of the disk, but less time. So digests are collected as they come, user by user.

use std::fmt;

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;

use crate::ingest::{Code, ItemCode, Side, UserCode};

/// Rows of a run, on average, from which a table saves nothing. A run is what one user has side by side.
const ROWS_OF_A_RUN: u64 = 4;
/// Rows of a user in a table, on average, from which a table is quicker than to put them together later.
const ROWS_OF_A_USER: u64 = 16;
/// A run takes as much memory as so many rows: a user, its number of rows, its partition and its place.
const RUN: usize = 3;

/// Whether rows go straight, if a table had so many rows in so many runs, of so many users: runs are long, or users have
/// few rows in all.
pub(super) fn needs_no_table(rows: u64, runs: u64, users: u64) -> bool {
    rows >= runs.saturating_mul(ROWS_OF_A_RUN) || rows < users.saturating_mul(ROWS_OF_A_USER)
}

/// Users with their distinct items, one after the other. A user may come again.
#[derive(Debug, Default)]
pub struct Runs {
    /// Each user with its number of items.
    pub users: Vec<(Digest, u32)>,
    /// The items of all of them.
    pub items: Vec<Digest>,
}

impl Runs {
    /// Start anew, and keep the memory.
    pub(crate) fn clear(&mut self) {
        self.users.clear();
        self.items.clear();
    }
}

/// Takes rows of one thread.
pub trait UnindexedRows: Send {
    /// Take what was collected.
    ///
    /// # Errors
    /// Those of the disk; an interruption.
    fn take(&mut self, runs: &Runs) -> Result<()>;

    /// End after the last rows.
    ///
    /// # Errors
    /// As [`UnindexedRows::take`].
    fn end(self: Box<Self>) -> Result<()>;
}

/// Makes what takes the rows of each thread, whenever it has this number of them, or fewer in many runs.
pub struct UnindexedWay<'a> {
    /// Rows that are taken together.
    pub rows: usize,
    /// Makes what takes the rows of one thread.
    pub begin: &'a (dyn Fn() -> Box<dyn UnindexedRows + 'a> + Sync),
}

impl fmt::Debug for UnindexedWay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnindexedWay").finish_non_exhaustive()
    }
}

/// Collects the rows of one thread.
pub(super) struct Collector<'a> {
    to: Box<dyn UnindexedRows + 'a>,
    most: usize,
    runs: Runs,
    /// The digests of the current step, by code.
    users: Vec<Digest>,
    items: Vec<Digest>,
    seen: EpochSet,
}

impl<'a> Collector<'a> {
    pub(super) fn new(way: &UnindexedWay<'a>) -> Self {
        Self {
            to: (way.begin)(),
            most: way.rows,
            runs: Runs::default(),
            users: Vec::new(),
            items: Vec::new(),
            seen: EpochSet::default(),
        }
    }

    pub(super) fn begin_step(&mut self) {
        self.users.clear();
        self.items.clear();
    }

    /// Append codes of these keys, which are good until the step ends.
    pub(super) fn intern<C: Code>(&mut self, digests: &[Digest], made: &mut Vec<C>) {
        let known = match C::SIDE {
            Side::User => &mut self.users,
            Side::Item => &mut self.items,
        };
        let first = codes(known.len());
        known.extend_from_slice(digests);
        made.extend((first..codes(known.len())).map(C::new));
    }

    /// Add rows of the step.
    pub(super) fn push(
        &mut self,
        users: &[UserCode],
        lens: Option<&[u32]>,
        mut items: &[ItemCode],
    ) -> Result<()> {
        for (at, user) in users.iter().enumerate() {
            let (own, rest) = items.split_at(lens.map_or(1, |lens| index(lens[at].into())));
            items = rest;
            if !own.is_empty() {
                self.add(self.users[user.number() as usize], own);
            }
            if self.runs.items.len() + self.runs.users.len() * RUN >= self.most {
                self.hand_over()?;
            }
        }
        Ok(())
    }

    /// Add rows of a user, who may be the last one.
    fn add(&mut self, user: Digest, items: &[ItemCode]) {
        let Runs { users, items: all } = &mut self.runs;
        let known = match users.last() {
            Some((last, len)) if *last == user => {
                let known = index((*len).into());
                users.pop();
                known
            }
            Some(_) | None => 0,
        };
        let start = all.len() - known;
        all.extend(items.iter().map(|item| self.items[item.number() as usize]));
        let kept = self.seen.keep_first(&mut all[start..], known);
        all.truncate(start + kept);
        users.push((user, codes(kept)));
    }

    fn hand_over(&mut self) -> Result<()> {
        self.to.take(&self.runs)?;
        self.runs.clear();
        Ok(())
    }

    /// Hand over the last rows.
    pub(super) fn end(mut self) -> Result<()> {
        self.hand_over()?;
        self.to.end()
    }
}

/// A small set of the items of one user. Raising the epoch empties it.
#[derive(Debug, Default)]
struct EpochSet {
    /// The epoch and the place of an item.
    slots: Vec<(u32, u32)>,
    epoch: u32,
    /// The slots in use, a power of two; none for a user of one item.
    size: usize,
}

impl EpochSet {
    /// Move the first occurrence of each item to the front; returns how many there are. So many `known` ones stand at the
    /// front already, where the call before has left them. So a user's items take time in proportion to their number.
    fn keep_first(&mut self, items: &mut [Digest], known: usize) -> usize {
        if known == 0 {
            self.size = 0;
        }
        if items.len() < 2 {
            return items.len();
        }
        let size = (items.len() * 2).next_power_of_two();
        if size > self.size {
            self.begin(size, &items[..known]);
        }
        let mut kept = known;
        for read in known..items.len() {
            let item = items[read];
            if self.insert(item, codes(kept), &items[..kept]) {
                items[kept] = item;
                kept += 1;
            }
        }
        kept
    }

    /// Empty the set, and put these distinct items into so many slots.
    fn begin(&mut self, size: usize, known: &[Digest]) {
        self.size = size;
        if self.slots.len() < size {
            self.slots.resize(size, (0, 0));
        }
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.fill((0, 0));
            self.epoch = 1;
        }
        for (place, item) in known.iter().enumerate() {
            self.insert(*item, codes(place), &known[..place]);
        }
    }

    /// Digests are pseudorandom, so some of their bits are the first place to look at.
    fn insert(&mut self, item: Digest, place: u32, known: &[Digest]) -> bool {
        let mask = self.size - 1;
        let mut at = item.0 as usize & mask;
        loop {
            let (epoch, other) = self.slots[at];
            if epoch != self.epoch {
                self.slots[at] = (self.epoch, place);
                return true;
            }
            if known[other as usize] == item {
                return false;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    type Taken = Arc<Mutex<Vec<(Digest, Vec<Digest>)>>>;

    struct Record(Taken);

    impl UnindexedRows for Record {
        fn take(&mut self, runs: &Runs) -> Result<()> {
            let mut items = runs.items.iter().copied();
            for (user, len) in &runs.users {
                self.0.lock().unwrap().push((*user, items.by_ref().take(*len as usize).collect()));
            }
            assert_eq!(items.next(), None);
            Ok(())
        }

        fn end(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_user_has_each_item_once_and_comes_again_only_when_another_came_between() {
        let taken = Taken::default();
        let begin = || -> Box<dyn UnindexedRows> { Box::new(Record(Arc::clone(&taken))) };
        let mut collector = Collector::new(&UnindexedWay { rows: 15, begin: &begin });
        let digests = |all: &[u128]| all.iter().map(|digest| Digest(*digest)).collect::<Vec<_>>();
        for (users, lens, items) in [
            (&[1, 2, 3][..], &[2, 0, 1][..], &[5, 5, 6][..]),
            (&[3], &[4], &[7, 6, 8, 7]),
            (&[1, 3], &[2, 1], &[5, 9, 6]),
        ] {
            let (mut user_codes, mut item_codes) = (Vec::new(), Vec::new());
            collector.begin_step();
            collector.intern::<UserCode>(&digests(users), &mut user_codes);
            collector.intern::<ItemCode>(&digests(items), &mut item_codes);
            collector.push(&user_codes, Some(lens), &item_codes).unwrap();
        }
        collector.end().unwrap();
        let expected = [(1, &[5][..]), (3, &[6, 7, 8]), (1, &[5, 9]), (3, &[6])];
        let expected: Vec<_> = expected.iter().map(|(user, items)| (Digest(*user), digests(items))).collect();
        assert_eq!(*taken.lock().unwrap(), expected);
    }

    #[test]
    fn a_table_is_for_users_who_meet_in_it() {
        // Side by side; scattered among few users; scattered among many; each user once.
        let found = [(400, 100, 25), (400, 101, 25), (400, 400, 25), (400, 400, 26), (400, 400, 400)]
            .map(|(rows, runs, users)| needs_no_table(rows, runs, users));
        assert_eq!(found, [true, false, false, true, true]);
    }

    #[test]
    fn the_items_of_a_user_who_comes_row_by_row_are_compared_with_all_before() {
        let (mut seen, mut all, mut known) = (EpochSet::default(), Vec::new(), 0);
        let mut expected: Vec<Digest> = Vec::new();
        for n in 0..3000_u128 {
            let item = Digest((n * n) % 1009);
            all.push(item);
            known = seen.keep_first(&mut all, known);
            all.truncate(known);
            if !expected.contains(&item) {
                expected.push(item);
            }
        }
        assert_eq!(all, expected);
        // The slots of one user at a time: those of the next begin anew.
        assert_eq!(seen.keep_first(&mut [Digest(1), Digest(4), Digest(1)], 0), 2);
    }
}
