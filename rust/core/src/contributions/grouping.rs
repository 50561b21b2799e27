//! From chunks to contributions: every user's rows side by side, without duplicates.
//!
//! Users are numbered part by part. A part is small enough that counting, scattering and removing duplicates stay in
//! the cache. Parts are independent of each other. Only distinct rows are written to the result.

use std::ops::Range;

use zerocopy::FromZeros;

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
    chunks: Vec<Chunk>,
    vocabulary: Vocabulary,
    order: &RowOrder,
    control: &Control,
) -> Result<Contributions> {
    let sizes: Vec<Size> = (0..PARTS).map(|part| Size::new(part, users, &chunks)).collect();
    let total: usize = sizes.iter().map(|size| size.rows).sum();
    let places = sizes.iter().map(|size| size.users).sum();
    control.charge_memory((total * 4 + places * 28) as u64, "grouping rows by user")?;
    let mut starts = vec![0; places];
    let mut lens = vec![0; places];
    // Unlike `vec!`, `new_vec_zeroed` does not write to memory that the system has zeroed.
    let mut digests = Digest::new_vec_zeroed(places).unwrap_or_else(|_| vec![Digest::default(); places]);
    let mut items = Array::<u32>::zeroed(total);
    let threads = parallel::threads_for(total, control);
    let columns = Columns { digests: &mut digests, starts: &mut starts, lens: &mut lens };
    let parts = split(&sizes, parallel::parts_for(threads), columns, items.as_mut_slice());
    let sorter = ItemSorter::new(order, &vocabulary);
    let tally = control.tally(100, PARTS);
    let done = parallel::map(threads, parts, |part| part.group(&sizes, users, &chunks, &sorter, tally));
    let filled = done.into_iter().collect::<Result<Vec<_>>>()?;
    close_gaps(&filled, &mut digests, &mut starts, &mut lens);
    let in_order = matches!(order, RowOrder::Items(_));
    let kept: usize = lens.iter().map(|len| *len as usize).sum();
    let bytes: usize = chunks.iter().map(Chunk::bytes).sum();
    parallel::free(threads, chunks);
    control.release_memory((bytes + (total - kept) * 4) as u64);
    Ok(Contributions { users: digests, starts, lens, items, in_order, vocabulary })
}

/// The users of a stretch. Places without a user leave free space at the end, which is never written.
struct Columns<'a> {
    digests: &'a mut [Digest],
    starts: &'a mut [usize],
    lens: &'a mut [u32],
}

impl<'a> Columns<'a> {
    /// The first `places`. The others stay.
    fn take(&mut self, places: usize) -> Columns<'a> {
        let (digests, rest_digests) = std::mem::take(&mut self.digests).split_at_mut(places);
        let (starts, rest_starts) = std::mem::take(&mut self.starts).split_at_mut(places);
        let (lens, rest_lens) = std::mem::take(&mut self.lens).split_at_mut(places);
        *self = Columns { digests: rest_digests, starts: rest_starts, lens: rest_lens };
        Columns { digests, starts, lens }
    }
}

/// Move the users of all stretches together. Each has a range of places, and its first ones are filled.
fn close_gaps(
    stretches: &[(Range<usize>, usize)],
    digests: &mut Vec<Digest>,
    starts: &mut Vec<usize>,
    lens: &mut Vec<u32>,
) {
    let mut end = 0;
    for (places, filled) in stretches {
        let from = places.start..places.start + filled;
        if places.start > end {
            digests.copy_within(from.clone(), end);
            starts.copy_within(from.clone(), end);
            lens.copy_within(from, end);
        }
        end += filled;
    }
    digests.truncate(end);
    starts.truncate(end);
    lens.truncate(end);
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
    /// The places of all its users in the whole result.
    places: Range<usize>,
    /// Position of the stretch's first row in the whole result.
    first_row: usize,
    columns: Columns<'a>,
    items: &'a mut [u32],
}

fn split<'a>(
    sizes: &[Size],
    stretches: usize,
    mut columns: Columns<'a>,
    mut items: &'a mut [u32],
) -> Vec<Stretch<'a>> {
    // Clipped sizes do no harm: they only balance the work.
    let rows = sizes.iter().map(|size| clipped(size.rows));
    let (mut first, mut first_place, mut first_row) = (0, 0, 0);
    let mut result = Vec::with_capacity(stretches);
    for end in parallel::balanced_ends(rows, stretches) {
        let parts = first..end;
        let users: usize = sizes[parts.clone()].iter().map(|size| size.users).sum();
        let rows = sizes[parts.clone()].iter().map(|size| size.rows).sum();
        let (own_items, rest_items) = items.split_at_mut(rows);
        let places = first_place..first_place + users;
        let (own, end_row) = (columns.take(users), first_row + rows);
        (first, first_place) = (end, places.end);
        result.push(Stretch { parts, places, first_row, columns: own, items: own_items });
        (items, first_row) = (rest_items, end_row);
    }
    result
}

impl Stretch<'_> {
    /// Returns the places of the stretch, and how many of them are filled.
    fn group(
        self,
        sizes: &[Size],
        users: &Users,
        chunks: &[Chunk],
        sorter: &ItemSorter<'_>,
        tally: Tally<'_>,
    ) -> Result<(Range<usize>, usize)> {
        let Self { parts, places, mut first_row, columns, mut items } = self;
        let (mut seen, mut grouped, mut found) = (SeenItems::default(), Vec::new(), 0);
        for part in parts {
            let Size { users: places, rows } = sizes[part];
            grouped.resize(rows.max(grouped.len()), 0);
            let (starts, lens) = group_part(part, chunks, places, &mut grouped[..rows])?;
            for (place, (start, len)) in starts.into_iter().zip(lens).enumerate() {
                let Some(digest) = users.digest(part, place) else { continue };
                let own = &mut grouped[start..][..len as usize];
                let len = sorter.sort(own, &mut seen);
                let (kept, rest) = items.split_at_mut(len as usize);
                kept.copy_from_slice(&own[..kept.len()]);
                (columns.digests[found], columns.starts[found], columns.lens[found]) =
                    (digest, first_row, len);
                found += 1;
                first_row += kept.len();
                items = rest;
            }
            tally.add(1);
        }
        Ok((places, found))
    }
}

/// Counting sort of one part's rows by user. Returns where the items of each user start in the part, and their numbers.
fn group_part(
    part: usize,
    chunks: &[Chunk],
    places: usize,
    items: &mut [u32],
) -> Result<(Vec<usize>, Vec<u32>)> {
    let mut counts = vec![0; places];
    for chunk in chunks {
        chunk.count(part, &mut counts);
    }
    let (mut starts, mut lens) = (Vec::with_capacity(places), Vec::with_capacity(places));
    let mut row = 0;
    for count in counts {
        starts.push(row);
        let fits = u32::try_from(count);
        lens.push(
            fits.map_err(|_| Error::Capacity { what: "rows of one user", limit: u64::from(u32::MAX) })?,
        );
        row += count;
    }
    let mut cursors = starts.clone();
    for chunk in chunks {
        chunk.place(part, &mut cursors, items);
    }
    Ok((starts, lens))
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
