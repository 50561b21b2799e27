//! Chunks of encoded rows, divided by user.
//!
//! A worker collects rows in an open chunk. A full chunk is divided into parts by user. Grouping a part later
//! (`grouping`) then stays in the cache, even if users come in random order. Some parts together are a band, whose memory
//! is used again once its rows are grouped.

use super::parts::{BANDS, PARTS, PARTS_OF_BAND, Starts, in_band, place, starts};
use super::rows::{LargestCodes, SingleRows, pack};
use crate::ingest::{ItemCode, UserCode};
use crate::runtime::memory::{Array, Growing};

/// Rows in the order of arrival: single rows, and runs of rows of one user.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    rows: Growing<u64>,
    runs: OpenRuns,
}

#[derive(Debug, Default)]
struct OpenRuns {
    users: Growing<u32>,
    lens: Growing<u32>,
    items: Growing<u32>,
}

impl OpenChunk {
    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows.len() + self.runs.items.len()
    }

    /// Add rows; without `lens` every run is one row.
    ///
    /// A single row takes 8 bytes here, and often 5 once it is divided. A run takes 8 bytes and 4 more for each row. So
    /// runs of fewer than two rows on average are stored as single rows. Longer ones take less time as runs.
    pub(super) fn extend(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) {
        match lens {
            None => self.rows.extend(users.iter().zip(items).map(|(user, item)| pack(user.0, item.0))),
            Some(lens) if users.len() * 2 > items.len() => {
                let mut rows = self.rows.room(items.len());
                let mut items = items.iter();
                for (user, len) in users.iter().zip(lens) {
                    for item in items.by_ref().take(*len as usize) {
                        rows.push(pack(user.0, item.0));
                    }
                }
            }
            Some(lens) => {
                self.runs.users.extend(users.iter().map(|user| user.0));
                self.runs.lens.extend(lens.iter().copied());
                self.runs.items.extend(items.iter().map(|item| item.0));
            }
        }
    }

    /// Divide the rows into parts and start anew. Returns the bands of all parts.
    pub(super) fn close(&mut self, largest: LargestCodes) -> Vec<Band> {
        let rows = SingleRows::divide(self.rows.as_slice(), largest).into_iter();
        let bands = rows.zip(BandRuns::divide(&self.runs)).map(|(rows, runs)| Band { rows, runs }).collect();
        self.rows.clear();
        self.runs.users.clear();
        self.runs.lens.clear();
        self.runs.items.clear();
        bands
    }
}

/// The rows of a chunk that belong to one band.
#[derive(Debug)]
pub(super) struct Band {
    rows: SingleRows,
    runs: BandRuns,
}

impl Band {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let Self { rows, runs } = self;
        rows.bytes() + runs.users.bytes() + runs.lens.bytes() + runs.items.bytes()
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        (0..PARTS_OF_BAND).map(|part| self.rows_of(part)).sum()
    }

    /// Number of rows of a part of the band.
    fn rows_of(&self, part: usize) -> usize {
        self.rows.rows_of(part) + self.runs.rows_of(part).len()
    }

    /// Add the number of rows of each user of a part.
    pub(super) fn count(&self, part: usize, counts: &mut [usize]) {
        for (user, _) in self.rows.part(part) {
            counts[user as usize] += 1;
        }
        self.runs.part(part).for_each(|(user, run)| counts[user] += run.len());
    }

    /// Copy the items of a part to `items`; a user's items start at its cursor.
    pub(super) fn copy_items(&self, part: usize, cursors: &mut [usize], items: &mut [u32]) {
        for (user, item) in self.rows.part(part) {
            let cursor = &mut cursors[user as usize];
            items[*cursor] = item;
            *cursor += 1;
        }
        self.runs.part(part).for_each(|(user, run)| {
            items[cursors[user]..][..run.len()].copy_from_slice(run);
            cursors[user] += run.len();
        });
    }

    /// The memory of the rows, once they are not needed any more.
    pub(super) fn into_memory(self) -> [Array<u32>; 2] {
        [self.rows.into_memory(), self.runs.items]
    }
}

/// Runs of a band: the user's place and the number of items of each.
#[derive(Debug)]
struct BandRuns {
    run_starts: Starts,
    row_starts: Starts,
    users: Array<u32>,
    lens: Array<u32>,
    items: Array<u32>,
}

impl BandRuns {
    /// Divide runs among the bands and their parts.
    fn divide(open: &OpenRuns) -> [Self; BANDS] {
        let [mut runs, mut rows] = [(); 2].map(|()| Box::new([0; PARTS]));
        for (user, len) in open.users.as_slice().iter().zip(open.lens.as_slice()) {
            runs[place(*user).0] += 1;
            rows[place(*user).0] += *len as usize;
        }
        let (runs, rows) = (starts(&runs), starts(&rows));
        let mut bands = std::array::from_fn(|band| Self::of_band(runs[band], rows[band]));
        Self::scatter(open, &mut bands);
        bands
    }

    /// Write runs to their parts.
    fn scatter(open: &OpenRuns, bands: &mut [Self; BANDS]) {
        let [mut run_at, mut row_at] = [(); 2].map(|()| Box::new([0; PARTS]));
        for part in 0..PARTS {
            let (band, number) = in_band(part);
            (run_at[part], row_at[part]) = (bands[band].run_starts[number], bands[band].row_starts[number]);
        }
        let mut arrays = bands.each_mut().map(|Self { users, lens, items, .. }| {
            (users.as_mut_slice(), lens.as_mut_slice(), items.as_mut_slice())
        });
        let mut rest = open.items.as_slice();
        for (user, len) in open.users.as_slice().iter().zip(open.lens.as_slice()) {
            let (part, place) = place(*user);
            let (users, lens, items) = &mut arrays[in_band(part).0];
            let (run, others) = rest.split_at(*len as usize);
            items[row_at[part]..][..run.len()].copy_from_slice(run);
            (users[run_at[part]], lens[run_at[part]]) = (place, *len);
            run_at[part] += 1;
            row_at[part] += run.len();
            rest = others;
        }
    }

    /// Room for the runs of a band.
    fn of_band(run_starts: Starts, row_starts: Starts) -> Self {
        let (runs, rows) = (run_starts[PARTS_OF_BAND], row_starts[PARTS_OF_BAND]);
        Self {
            run_starts,
            row_starts,
            users: Array::zeroed(runs),
            lens: Array::zeroed(runs),
            items: Array::apart(rows),
        }
    }

    /// The positions of a part's rows.
    fn rows_of(&self, part: usize) -> std::ops::Range<usize> {
        self.row_starts[part]..self.row_starts[part + 1]
    }

    /// The user's place and the items of each run of a part.
    fn part(&self, part: usize) -> impl Iterator<Item = (usize, &[u32])> {
        let runs = self.run_starts[part]..self.run_starts[part + 1];
        let mut rest = &self.items.as_slice()[self.rows_of(part)];
        let users = self.users.as_slice()[runs.clone()].iter();
        users.zip(&self.lens.as_slice()[runs]).map(move |(user, len)| {
            let (run, others) = rest.split_at(*len as usize);
            rest = others;
            (*user as usize, run)
        })
    }
}
