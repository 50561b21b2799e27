//! Chunks of encoded rows, divided by user.
//!
//! A worker collects rows in an open chunk. When it is full its rows are divided into parts by their users, so that
//! grouping a part later (`grouping`) stays in the cache, even when users come in random order.

use super::UserCode;
use crate::memory::{Array, Growing};

/// Bits of a user's code that name its part.
const PART_BITS: u32 = 8;
/// Number of parts.
pub(super) const PARTS: usize = 1 << PART_BITS;

/// Where each part starts; the last entry is the end.
type Starts = [usize; PARTS + 1];

/// The part of a user, and its place there.
fn place(user: u32) -> (usize, u32) {
    (user as usize % PARTS, user >> PART_BITS)
}

/// Rows in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    /// The user of each run.
    users: Growing<u32>,
    /// Rows of each run; empty where every run is one row.
    lens: Growing<u32>,
    items: Growing<u32>,
}

impl OpenChunk {
    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.items.len()
    }

    /// Whether rows can be added whose runs are all of one row (or are not).
    pub(super) fn accepts(&self, single: bool) -> bool {
        self.users.len() == 0 || single == (self.lens.len() == 0)
    }

    /// Add rows; without `lens` every run is one row.
    pub(super) fn extend(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[super::ItemCode]) {
        self.users.extend(users.iter().map(|user| user.0));
        self.lens.extend(lens.unwrap_or_default().iter().copied());
        self.items.extend(items.iter().map(|item| item.0));
    }

    /// Divide the rows into parts and start anew.
    pub(super) fn close(&mut self) -> Chunk {
        let (run_starts, row_starts) = self.part_starts();
        let mut users = Array::<u32>::zeroed(self.users.len());
        let mut lens = Array::<u32>::zeroed(self.lens.len());
        let mut items = Array::<u32>::zeroed(self.rows());
        if self.lens.len() == 0 {
            self.scatter_rows(run_starts, users.as_mut_slice(), items.as_mut_slice());
        } else {
            let out = (users.as_mut_slice(), lens.as_mut_slice(), items.as_mut_slice());
            self.scatter_runs(run_starts, row_starts, out);
        }
        self.users.clear();
        self.lens.clear();
        self.items.clear();
        Chunk { run_starts, row_starts, users, lens, items }
    }

    /// Where each part's runs and rows start once they are divided.
    fn part_starts(&self) -> (Starts, Starts) {
        let (mut runs, mut rows) = ([0; PARTS + 1], [0; PARTS + 1]);
        for user in self.users.as_slice() {
            runs[place(*user).0 + 1] += 1;
        }
        for (user, len) in self.users.as_slice().iter().zip(self.lens.as_slice()) {
            rows[place(*user).0 + 1] += *len as usize;
        }
        for p in 0..PARTS {
            runs[p + 1] += runs[p];
            rows[p + 1] += rows[p];
        }
        (runs, if self.lens.len() == 0 { runs } else { rows })
    }

    fn scatter_rows(&self, mut at: Starts, users: &mut [u32], items: &mut [u32]) {
        for (user, item) in self.users.as_slice().iter().zip(self.items.as_slice()) {
            let (part, place) = place(*user);
            let to = at[part];
            (users[to], items[to]) = (place, *item);
            at[part] = to + 1;
        }
    }

    fn scatter_runs(
        &self,
        mut run_at: Starts,
        mut row_at: Starts,
        (users, lens, items): (&mut [u32], &mut [u32], &mut [u32]),
    ) {
        let mut rest = self.items.as_slice();
        for (user, len) in self.users.as_slice().iter().zip(self.lens.as_slice()) {
            let (part, place) = place(*user);
            let (run, others) = rest.split_at(*len as usize);
            items[row_at[part]..][..run.len()].copy_from_slice(run);
            (users[run_at[part]], lens[run_at[part]]) = (place, *len);
            run_at[part] += 1;
            row_at[part] += run.len();
            rest = others;
        }
    }
}

/// Rows divided into parts by user.
#[derive(Debug)]
pub(super) struct Chunk {
    run_starts: Starts,
    row_starts: Starts,
    /// Place of the user of each run in its part.
    users: Array<u32>,
    /// Rows of each run; empty where every run is one row.
    lens: Array<u32>,
    items: Array<u32>,
}

impl Chunk {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.users.bytes() + self.lens.bytes() + self.items.bytes()
    }

    /// Number of rows of a part.
    pub(super) fn rows_of(&self, part: usize) -> usize {
        self.row_starts[part + 1] - self.row_starts[part]
    }

    /// Call `f(place of the user, items)` for every run of a part.
    pub(super) fn for_each_run<'a>(&'a self, part: usize, mut f: impl FnMut(usize, &'a [u32])) {
        let runs = self.run_starts[part]..self.run_starts[part + 1];
        let items = &self.items.as_slice()[self.row_starts[part]..self.row_starts[part + 1]];
        let users = &self.users.as_slice()[runs.clone()];
        match self.lens.as_slice().get(runs) {
            Some(lens) if !self.lens.as_slice().is_empty() => {
                let mut rest = items;
                for (user, len) in users.iter().zip(lens) {
                    let (run, others) = rest.split_at(*len as usize);
                    f(*user as usize, run);
                    rest = others;
                }
            }
            _ => {
                users.iter().zip(items).for_each(|(user, item)| f(*user as usize, std::slice::from_ref(item)))
            }
        }
    }
}
