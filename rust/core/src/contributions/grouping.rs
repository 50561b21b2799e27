//! From chunks to contributions: every user's rows side by side, without duplicates.
//!
//! Users are numbered part by part. A part is small enough that counting, scattering and removing duplicates stay in
//! the cache. Parts are independent of each other. Only distinct rows are written to the result.

use std::ops::Range;

use super::chunk::{Chunk, PARTS, places, user_at};
use super::distinct::SeenItems;
use super::grouped::Contributions;
use super::order::{ItemSorter, RowOrder};
use super::records::NoRecord;
use super::shard::Shard;
use super::sharding::Sharding;
use super::vocabulary::Vocabulary;
use crate::numeric::widths::{clipped, codes};
use crate::random::Digest;
use crate::runtime::memory::Array;
use crate::runtime::{Control, Tally, parallel};
use crate::{Error, Result};

/// The users, divided into the parts of the chunks.
#[derive(Debug)]
pub(super) struct Users {
    shards: Vec<Shard<NoRecord>>,
    sharding: Sharding,
}

impl Users {
    pub(super) fn new(shards: Vec<Shard<NoRecord>>, sharding: Sharding) -> Self {
        Self { shards, sharding }
    }

    /// The number of places of a part. Some have no user: shards differ in length, and not all codes that are kept for
    /// integers are used.
    fn places(&self, part: usize) -> usize {
        // Otherwise: without shards there are no users.
        places(part, self.shards.iter().map(Shard::len).max().unwrap_or(0) * self.sharding.shards())
    }

    /// The digest of the user with a place in a part; `None` if there is no user.
    fn digest(&self, part: usize, place: usize) -> Option<Digest> {
        let code = codes(user_at(part, place));
        let shard = self.shards[self.sharding.shard_of_code(code)].digests();
        // A digest of zero stands for a code without a user.
        shard.get(self.sharding.local_of_code(code)).copied().filter(|digest| *digest != 0).map(Digest)
    }
}

/// Group the rows of all chunks by user.
///
/// # Errors
/// Capacity or memory limit.
pub(super) fn group_rows(
    users: &Users,
    chunks: &[Chunk],
    vocabulary: Vocabulary,
    order: &RowOrder,
    control: &Control,
) -> Result<Contributions> {
    let sizes: Vec<Size> = (0..PARTS).map(|part| Size::new(part, users, chunks)).collect();
    let total: usize = sizes.iter().map(|size| size.rows).sum();
    let places = sizes.iter().map(|size| size.users).sum();
    control.charge_memory((total * 4 + places * 28) as u64, "grouping rows by user")?;
    let mut starts = vec![0; places];
    let mut lens = vec![0; places];
    let mut items = Array::<u32>::zeroed(total);
    let threads = parallel::threads_for(total, control);
    let parts = split(&sizes, parallel::parts_for(threads), &mut starts, &mut lens, items.as_mut_slice());
    let sorter = ItemSorter::new(order, &vocabulary);
    let tally = control.tally(100, PARTS);
    let done = parallel::map(threads, parts, |part| part.group(&sizes, chunks, &sorter, tally));
    done.into_iter().collect::<Result<()>>()?;
    let users = existing(users, &sizes, &mut starts, &mut lens);
    let in_order = matches!(order, RowOrder::Items(_));
    let kept: usize = lens.iter().map(|len| *len as usize).sum();
    let chunks: usize = chunks.iter().map(Chunk::bytes).sum();
    control.release_memory((chunks + (total - kept) * 4) as u64);
    Ok(Contributions { users, starts, lens, items, in_order, vocabulary })
}

/// The digests of all users in order of parts and places. Places without a user leave `starts` and `lens`.
fn existing(users: &Users, sizes: &[Size], starts: &mut Vec<usize>, lens: &mut Vec<u32>) -> Vec<Digest> {
    let places = sizes.iter().enumerate().flat_map(|(part, size)| (0..size.users).map(move |at| (part, at)));
    let mut digests = Vec::with_capacity(starts.len());
    for (read, (part, place)) in places.enumerate() {
        if let Some(digest) = users.digest(part, place) {
            (starts[digests.len()], lens[digests.len()]) = (starts[read], lens[read]);
            digests.push(digest);
        }
    }
    starts.truncate(digests.len());
    lens.truncate(digests.len());
    digests
}

/// Users and rows of a part.
#[derive(Debug, Clone, Copy)]
struct Size {
    users: usize,
    rows: usize,
}

impl Size {
    fn new(part: usize, users: &Users, chunks: &[Chunk]) -> Self {
        let rows = chunks.iter().map(|chunk| chunk.rows_of(part)).sum();
        Self { users: users.places(part), rows }
    }
}

/// A range of parts and its stretch of the result, filled by one thread. Duplicates leave free space at the end of the
/// stretch, which is never written.
struct Stretch<'a> {
    parts: Range<usize>,
    /// Position of the stretch's first row in the whole result.
    first_row: usize,
    starts: &'a mut [usize],
    lens: &'a mut [u32],
    items: &'a mut [u32],
}

fn split<'a>(
    sizes: &[Size],
    stretches: usize,
    mut starts: &'a mut [usize],
    mut lens: &'a mut [u32],
    mut items: &'a mut [u32],
) -> Vec<Stretch<'a>> {
    // Clipped sizes do no harm: they only balance the work.
    let rows = sizes.iter().map(|size| clipped(size.rows));
    let (mut first, mut first_row) = (0, 0);
    let mut result = Vec::with_capacity(stretches);
    for end in parallel::balanced_ends(rows, stretches) {
        let parts = first..end;
        let users = sizes[parts.clone()].iter().map(|size| size.users).sum();
        let rows = sizes[parts.clone()].iter().map(|size| size.rows).sum();
        let (own_starts, rest_starts) = starts.split_at_mut(users);
        let (own_lens, rest_lens) = lens.split_at_mut(users);
        let (own_items, rest_items) = items.split_at_mut(rows);
        result.push(Stretch { parts, first_row, starts: own_starts, lens: own_lens, items: own_items });
        (starts, lens, items) = (rest_starts, rest_lens, rest_items);
        (first, first_row) = (end, first_row + rows);
    }
    result
}

impl Stretch<'_> {
    fn group(
        self,
        sizes: &[Size],
        chunks: &[Chunk],
        sorter: &ItemSorter<'_>,
        tally: Tally<'_>,
    ) -> Result<()> {
        let Self { parts, mut first_row, mut starts, mut lens, mut items } = self;
        let (mut seen, mut grouped) = (SeenItems::default(), Vec::new());
        for part in parts {
            let Size { users, rows } = sizes[part];
            let (own_starts, rest_starts) = starts.split_at_mut(users);
            let (own_lens, rest_lens) = lens.split_at_mut(users);
            grouped.resize(rows.max(grouped.len()), 0);
            group_part(part, chunks, own_starts, own_lens, &mut grouped[..rows])?;
            for (start, len) in own_starts.iter_mut().zip(own_lens) {
                let own = &mut grouped[*start..][..*len as usize];
                *len = sorter.sort(own, &mut seen);
                let (kept, rest) = items.split_at_mut(*len as usize);
                kept.copy_from_slice(&own[..kept.len()]);
                *start = first_row;
                first_row += kept.len();
                items = rest;
            }
            (starts, lens) = (rest_starts, rest_lens);
            tally.add(1);
        }
        Ok(())
    }
}

/// Counting sort of one part's rows by user; `starts` are relative to the part.
fn group_part(
    part: usize,
    chunks: &[Chunk],
    starts: &mut [usize],
    lens: &mut [u32],
    items: &mut [u32],
) -> Result<()> {
    let mut counts = vec![0; lens.len()];
    for chunk in chunks {
        chunk.count(part, &mut counts);
    }
    let mut row = 0;
    for ((start, len), count) in starts.iter_mut().zip(lens).zip(counts) {
        *start = row;
        let fits = u32::try_from(count);
        *len = fits.map_err(|_| Error::Capacity { what: "rows of one user", limit: u64::from(u32::MAX) })?;
        row += count;
    }
    let mut cursors = starts.to_vec();
    for chunk in chunks {
        chunk.place(part, &mut cursors, items);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::testing::{contributions, item_digest};
    use super::*;
    use crate::ingest::ItemCode;
    use crate::ingest::testing::digests;
    use crate::random::{Purpose, ReleaseKey};

    /// Shards differ in length, so that some places have no user.
    #[test]
    fn every_user_has_its_own_items() {
        let key = ReleaseKey::insecure_test([6; 32]);
        for users in [0, 1, 3, 33, 300, 9000] {
            let rows: Vec<(u64, u64)> =
                (0..users).flat_map(|user| (0..=user % 5).map(move |item| (user, user + item))).collect();
            let mut expected = BTreeMap::<Digest, BTreeSet<Digest>>::new();
            for (user, item) in &rows {
                let user = digests(&[*user], &key, Purpose::UserDigest)[0];
                expected.entry(user).or_default().insert(item_digest(*item, &key));
            }
            let grouped = contributions(&rows, &key);
            let known = grouped.vocabulary.digests();
            let items = |(start, len): (&usize, &u32)| {
                let items = &grouped.items.as_slice()[*start..][..*len as usize];
                items.iter().map(|item| known.get(ItemCode(*item))).collect::<BTreeSet<_>>()
            };
            let found =
                grouped.users.iter().copied().zip(grouped.starts.iter().zip(&grouped.lens).map(items));
            assert_eq!(grouped.users.len(), expected.len());
            assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
