//! From chunks to contributions: every user's rows side by side, without duplicates.
//!
//! Users are numbered shard by shard, so the rows of a shard fill one stretch of the result. It is small enough that
//! counting, scattering and removing duplicates stay in cache, and shards are independent of each other.

use std::ops::Range;

use super::chunk::{Chunk, USER_SHARDS, UserShard};
use super::{Contributions, Vocabulary};
use crate::control::Control;
use crate::memory::Array;
use crate::parallel;
use crate::random::Digest;
use crate::{Error, Result};

/// Group the rows of all chunks by user.
///
/// # Errors
/// Capacity or memory limit.
pub(super) fn group_rows(
    shards: &[UserShard],
    chunks: &[Chunk],
    vocabulary: Vocabulary,
    control: &Control,
) -> Result<Contributions> {
    let rows: Vec<usize> = (0..USER_SHARDS).map(|s| chunks.iter().map(|c| c.rows_of(s)).sum()).collect();
    let total: usize = rows.iter().sum();
    let users: Vec<Digest> = shards.iter().flat_map(|shard| shard.digests_from(0)).collect();
    control.charge_memory((total * 4 + users.len() * 28) as u64, "grouping rows by user")?;
    let mut starts = vec![0; users.len()];
    let mut lens = vec![0; users.len()];
    let mut items = Array::<u32>::zeroed(total);
    let threads = parallel::threads_for(total, control);
    let parts = split(shards, &rows, threads, &mut starts, &mut lens, items.as_mut_slice());
    let done = parallel::map(parts, |part| part.group(shards, &rows, chunks));
    done.into_iter().collect::<Result<()>>()?;
    control.release_memory(chunks.iter().map(|c| c.bytes() as u64).sum());
    Ok(Contributions { users, starts, lens, items, vocabulary })
}

/// A range of shards and their part of the result, worked on by one thread.
struct Part<'a> {
    shards: Range<usize>,
    /// Position of the part's first row in the whole result.
    first_row: usize,
    starts: &'a mut [usize],
    lens: &'a mut [u32],
    items: &'a mut [u32],
}

fn split<'a>(
    shards: &[UserShard],
    rows: &[usize],
    parts: usize,
    mut starts: &'a mut [usize],
    mut lens: &'a mut [u32],
    mut items: &'a mut [u32],
) -> Vec<Part<'a>> {
    let sizes: Vec<u32> = rows.iter().map(|n| u32::try_from(*n).unwrap_or(u32::MAX)).collect();
    let (mut first, mut first_row) = (0, 0);
    let mut result = Vec::with_capacity(parts);
    for end in parallel::balanced_ends(&sizes, parts) {
        let part = first..end;
        let users: usize = shards[part.clone()].iter().map(UserShard::len).sum();
        let part_rows: usize = rows[part.clone()].iter().sum();
        let (part_starts, rest_starts) = starts.split_at_mut(users);
        let (part_lens, rest_lens) = lens.split_at_mut(users);
        let (part_items, rest_items) = items.split_at_mut(part_rows);
        result.push(Part {
            shards: part,
            first_row,
            starts: part_starts,
            lens: part_lens,
            items: part_items,
        });
        (starts, lens, items) = (rest_starts, rest_lens, rest_items);
        (first, first_row) = (end, first_row + part_rows);
    }
    result
}

impl Part<'_> {
    fn group(self, shards: &[UserShard], rows: &[usize], chunks: &[Chunk]) -> Result<()> {
        let Self { shards: range, mut first_row, mut starts, mut lens, mut items } = self;
        let mut seen = SeenItems::default();
        for s in range {
            let (shard_starts, rest_starts) = starts.split_at_mut(shards[s].len());
            let (shard_lens, rest_lens) = lens.split_at_mut(shards[s].len());
            let (shard_items, rest_items) = items.split_at_mut(rows[s]);
            group_shard(s, chunks, shard_starts, shard_lens, shard_items)?;
            for (start, len) in shard_starts.iter_mut().zip(shard_lens) {
                *len = seen.keep_first(&mut shard_items[*start..][..*len as usize]);
                *start += first_row;
            }
            first_row += rows[s];
            (starts, lens, items) = (rest_starts, rest_lens, rest_items);
        }
        Ok(())
    }
}

/// Counting sort of one shard's rows by user; `starts` are relative to the shard.
fn group_shard(
    shard: usize,
    chunks: &[Chunk],
    starts: &mut [usize],
    lens: &mut [u32],
    items: &mut [u32],
) -> Result<()> {
    let mut counts = vec![0_u64; lens.len()];
    for chunk in chunks {
        chunk.for_each_run(shard, |user, run| counts[user] += run.len() as u64);
    }
    let mut row = 0;
    for ((start, len), count) in starts.iter_mut().zip(lens).zip(counts) {
        *start = row;
        let fits = u32::try_from(count);
        *len = fits.map_err(|_| Error::Capacity { what: "rows of one user", limit: u64::from(u32::MAX) })?;
        row += *len as usize;
    }
    let mut cursors = starts.to_vec();
    for chunk in chunks {
        chunk.for_each_run(shard, |user, run| {
            let at = cursors[user];
            match run {
                [item] => items[at] = *item,
                _ => items[at..][..run.len()].copy_from_slice(run),
            }
            cursors[user] = at + run.len();
        });
    }
    Ok(())
}

/// A small set that is emptied by counting an epoch up: one word per slot, `epoch << 32 | code`.
#[derive(Debug, Default)]
struct SeenItems {
    slots: Vec<u64>,
    epoch: u32,
}

impl SeenItems {
    /// Move the first occurrence of each item to the front; returns how many there are.
    fn keep_first(&mut self, items: &mut [u32]) -> u32 {
        if items.len() < 2 {
            return u32::from(!items.is_empty());
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
                items[kept as usize] = item;
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
            assert_eq!(items[..kept as usize], expected);
        }
    }
}
