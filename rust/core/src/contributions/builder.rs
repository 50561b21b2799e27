//! Building contributions from many threads at once: intern users and items, then group rows by user.

use std::sync::Mutex;

use super::interner::{Interner, Records, Shard, Sharding};
use super::{Contributions, ItemCode, KeyLayout, KeyStore, Payload, Vocabulary};
use crate::control::Control;
use crate::ingest::ItemSchema;
use crate::memory::{Array, Growing};
use crate::parallel;
use crate::random::Digest;
use crate::{Error, Result};

const READING: &str = "reading the rows";

/// Consecutive rows of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserRun {
    /// Digest of the user's key.
    pub user: Digest,
    /// Number of rows.
    pub rows: u32,
}

/// Nothing is kept of a user but its digest.
#[derive(Debug)]
struct NoRecord;

impl Records<()> for NoRecord {
    fn append(&mut self, _row: ()) {}
    fn bytes(&self) -> usize {
        0
    }
}

/// A batch's payload and the row to take from it.
struct PayloadRow<'a, P>(&'a P, usize);

impl<P: Payload> Records<PayloadRow<'_, P>> for KeyStore {
    fn append(&mut self, row: PayloadRow<'_, P>) {
        row.0.append_to(row.1, self);
    }
    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}

/// Rows of a thread's open chunk at which it is handed over.
const CHUNK_ROWS: usize = 1 << 20;

/// Encoded rows of some batches.
#[derive(Debug, Default)]
struct Chunk {
    /// User codes: of each run of rows where `lens` has their lengths, else of each row.
    users: Growing<u32>,
    lens: Growing<u32>,
    items: Growing<u32>,
}

impl Chunk {
    fn bytes(&self) -> usize {
        self.users.bytes() + self.lens.bytes() + self.items.bytes()
    }

    /// Whether every row names its user, which is shorter where users' rows do not stand together.
    fn is_by_row(&self) -> bool {
        self.lens.len() == 0
    }

    /// Call `f(user code, first row, number of rows)` for every run.
    fn for_each_run(&self, mut f: impl FnMut(u32, usize, usize)) {
        if self.is_by_row() {
            for (row, &user) in self.users.as_slice().iter().enumerate() {
                f(user, row, 1);
            }
            return;
        }
        let mut row = 0;
        for (&user, &rows) in self.users.as_slice().iter().zip(self.lens.as_slice()) {
            f(user, row, rows as usize);
            row += rows as usize;
        }
    }
}

/// Shared by the threads that read; each makes its own [`Worker`].
#[derive(Debug)]
pub struct ContributionsBuilder {
    users: Interner<NoRecord>,
    items: Interner<KeyStore>,
    chunks: Mutex<Vec<Chunk>>,
    sharding: Sharding,
    control: Control,
}

impl ContributionsBuilder {
    /// An empty builder for item keys of one layout.
    pub fn new(layout: KeyLayout, control: &Control) -> Self {
        let sharding = Sharding::for_threads(control.threads());
        Self {
            users: Interner::new(sharding, || NoRecord),
            items: Interner::new(sharding, || KeyStore::new(layout)),
            chunks: Mutex::default(),
            sharding,
            control: control.clone(),
        }
    }

    /// A handle for one thread.
    pub fn worker(&self) -> Worker<'_> {
        Worker { builder: self, open: Chunk::default(), user_digests: Vec::new(), codes: Vec::new() }
    }

    /// Group all rows by user, without duplicates.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn finish(self, schema: ItemSchema) -> Result<Contributions> {
        let vocabulary = Vocabulary { shards: self.items.into_shards()?, sharding: self.sharding, schema };
        let users = self.users.into_shards()?;
        let chunks = self.chunks.into_inner().map_err(|_| Error::Internal("a reading thread failed"))?;
        self.control.check()?;
        group_rows(&users, chunks, vocabulary, &self.control)
    }
}

/// One thread's access to a [`ContributionsBuilder`].
#[derive(Debug)]
pub struct Worker<'a> {
    builder: &'a ContributionsBuilder,
    open: Chunk,
    user_digests: Vec<Digest>,
    codes: Vec<u32>,
}

impl Worker<'_> {
    /// Codes of the items with these digests, appended to `codes`; keys of new items are taken from `payload`,
    /// whose row i belongs to digest i.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn intern(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<ItemCode>,
    ) -> Result<()> {
        self.codes.clear();
        self.codes.resize(digests.len(), 0);
        let row = |r| PayloadRow(payload, r);
        let grown = self.builder.items.intern(digests, row, &mut self.codes)?;
        codes.extend(self.codes.iter().copied().map(ItemCode));
        self.builder.control.charge_memory(grown, READING)
    }

    /// Add rows: the runs cover `codes` in order (the sum of their `rows` is `codes.len()`). Runs of zero rows
    /// still make the user known.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn push(&mut self, runs: &[UserRun], codes: &[ItemCode]) -> Result<()> {
        self.user_digests.clear();
        self.user_digests.extend(runs.iter().map(|run| run.user));
        self.codes.clear();
        self.codes.resize(runs.len(), 0);
        let grown = self.builder.users.intern(&self.user_digests, |_| (), &mut self.codes)?;
        let by_row = runs.iter().all(|run| run.rows == 1);
        if by_row != self.open.is_by_row() || self.open.items.len() + codes.len() > CHUNK_ROWS {
            self.hand_over();
        }
        let before = self.open.bytes();
        self.open.users.extend_from_slice(&self.codes);
        if !by_row {
            self.codes.clear();
            self.codes.extend(runs.iter().map(|run| run.rows));
            self.open.lens.extend_from_slice(&self.codes);
        }
        self.codes.clear();
        self.codes.extend(codes.iter().map(|code| code.0));
        self.open.items.extend_from_slice(&self.codes);
        let bytes = (self.open.bytes() - before) as u64;
        self.builder.control.charge_memory(grown + bytes, READING)
    }

    fn hand_over(&mut self) {
        let chunk = std::mem::take(&mut self.open);
        // A poisoned lock is not lost: `finish` fails on it.
        if chunk.users.len() > 0
            && let Ok(mut chunks) = self.builder.chunks.lock()
        {
            chunks.push(chunk);
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.hand_over();
    }
}

/// Scatter the chunks' rows to their users and drop duplicates. Each thread owns a range of users.
fn group_rows(
    users: &[Shard<NoRecord>],
    chunks: Vec<Chunk>,
    vocabulary: Vocabulary,
    control: &Control,
) -> Result<Contributions> {
    let digests = users_by_code(users, vocabulary.sharding);
    let mut lens = count_rows(&chunks, digests.len(), control)?;
    let mut starts = Vec::with_capacity(lens.len());
    let mut rows = 0_usize;
    for &n in &lens {
        starts.push(rows);
        rows += n as usize;
    }
    control.charge_memory((rows * 4 + lens.len() * 28) as u64, "grouping rows by user")?;
    let mut items = Array::zeroed(rows);
    let parts = split_users(items.as_mut_slice(), &mut lens, &starts, parallel::threads_for(rows, control));
    parallel::map(parts, |mut part| {
        part.scatter(&chunks, &starts);
        part.deduplicate(&starts);
    });
    control.release_memory(chunks.iter().map(|c| c.bytes() as u64).sum());
    Ok(Contributions { users: digests, starts, lens, items, vocabulary })
}

/// Digest of every user code; codes that no user has get zero.
fn users_by_code(shards: &[Shard<NoRecord>], sharding: Sharding) -> Vec<Digest> {
    let longest = shards.iter().map(Shard::len).max().unwrap_or(0);
    let mut digests = vec![Digest::default(); longest * sharding.shards()];
    for (s, shard) in shards.iter().enumerate() {
        for (local, digest) in (0_u32..).zip(shard.digests_from(0)) {
            digests[sharding.code(s, local) as usize] = digest;
        }
    }
    digests
}

/// Number of rows of every user code, duplicates included.
fn count_rows(chunks: &[Chunk], users: usize, control: &Control) -> Result<Vec<u32>> {
    const LIMIT: Error = Error::Capacity { what: "rows of one user", limit: u32::MAX as u64 };
    let rows = chunks.iter().map(|chunk| chunk.items.len()).sum();
    let threads = parallel::threads_for(rows, control);
    let parts: Vec<_> = chunks.chunks(chunks.len().div_ceil(threads).max(1)).collect();
    let counts = parallel::map(parts, |part| {
        let mut counts = vec![0_u32; users];
        let mut overflow = false;
        for chunk in part {
            chunk.for_each_run(|user, _, rows| {
                let count = &mut counts[user as usize];
                *count = count.checked_add(rows as u32).unwrap_or_else(|| {
                    overflow = true;
                    u32::MAX
                });
            });
        }
        if overflow { Err(LIMIT) } else { Ok(counts) }
    });
    let mut counts = counts.into_iter().collect::<Result<Vec<_>>>()?.into_iter();
    let mut total = counts.next().unwrap_or_else(|| vec![0; users]);
    for part in counts {
        for (sum, count) in total.iter_mut().zip(part) {
            *sum = sum.checked_add(count).ok_or(LIMIT)?;
        }
    }
    Ok(total)
}

/// A contiguous range of users and their part of the item array.
struct UserRange<'a> {
    first_user: usize,
    first_item: usize,
    lens: &'a mut [u32],
    items: &'a mut [u32],
}

fn split_users<'a>(
    mut items: &'a mut [u32],
    mut lens: &'a mut [u32],
    starts: &[usize],
    parts: usize,
) -> Vec<UserRange<'a>> {
    let mut ranges = Vec::with_capacity(parts);
    let (mut first_user, mut first_item) = (0, 0);
    for end in parallel::balanced_ends(lens, parts) {
        let end_item = starts.get(end).copied().unwrap_or(first_item + items.len());
        let (head, tail) = lens.split_at_mut(end - first_user);
        let (head_items, tail_items) = items.split_at_mut(end_item - first_item);
        ranges.push(UserRange { first_user, first_item, lens: head, items: head_items });
        (lens, items) = (tail, tail_items);
        (first_user, first_item) = (end, end_item);
    }
    ranges
}

impl UserRange<'_> {
    fn scatter(&mut self, chunks: &[Chunk], starts: &[usize]) {
        let users = self.first_user..self.first_user + self.lens.len();
        let mut cursors: Vec<usize> = starts[users].iter().map(|s| s - self.first_item).collect();
        for chunk in chunks {
            let items = chunk.items.as_slice();
            chunk.for_each_run(|user, row, rows| {
                let Some(cursor) =
                    (user as usize).checked_sub(self.first_user).and_then(|local| cursors.get_mut(local))
                else {
                    return;
                };
                match rows {
                    // Rows in random order come one by one: a copy of one word is not worth a call.
                    1 => self.items[*cursor] = items[row],
                    _ => self.items[*cursor..*cursor + rows].copy_from_slice(&items[row..row + rows]),
                }
                *cursor += rows;
            });
        }
    }

    fn deduplicate(&mut self, starts: &[usize]) {
        let mut seen = SeenItems::default();
        for (local, len) in self.lens.iter_mut().enumerate() {
            let start = starts[self.first_user + local] - self.first_item;
            let kept = seen.keep_first(&mut self.items[start..start + *len as usize]);
            *len = kept as u32;
        }
    }
}

/// A small set that is emptied by counting an epoch up: one word per slot, `epoch << 32 | code`.
#[derive(Debug, Default)]
struct SeenItems {
    slots: Vec<u64>,
    epoch: u32,
}

impl SeenItems {
    /// Move the first occurrence of each item to the front; returns how many there are.
    fn keep_first(&mut self, items: &mut [u32]) -> usize {
        if items.len() < 2 {
            return items.len();
        }
        let size = (items.len() * 2).next_power_of_two();
        if self.slots.len() < size {
            self.slots.resize(size, 0);
        }
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.fill(0);
            self.epoch = 1;
        }
        let mut kept = 0;
        for i in 0..items.len() {
            let item = items[i];
            if self.insert(item, size - 1) {
                items[kept] = item;
                kept += 1;
            }
        }
        kept
    }

    fn insert(&mut self, item: u32, mask: usize) -> bool {
        let entry = u64::from(self.epoch) << 32 | u64::from(item);
        let mut at = (item.wrapping_mul(0x9e37_79b9) >> 7) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == entry {
                return false;
            }
            if (slot >> 32) as u32 != self.epoch {
                self.slots[at] = entry;
                return true;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_occurrences_are_kept() {
        let mut seen = SeenItems::default();
        for n in [1_u32, 2, 7, 100, 3] {
            let mut items: Vec<u32> = (0..3 * n).map(|i| i % n * 64).collect();
            let kept = seen.keep_first(&mut items);
            let expected: Vec<u32> = (0..n).map(|i| i * 64).collect();
            assert_eq!(items[..kept], expected);
        }
    }
}
