//! From chunks to contributions: every user's rows side by side, without duplicates.
//!
//! Users are numbered part by part. A part is small enough that counting, scattering and removing duplicates stay in
//! the cache. Parts are independent of each other. Only distinct rows are written to the result.

use std::ops::Range;

use super::chunk::Chunk;
use super::distinct::SeenItems;
use super::grouped::Contributions;
use super::order::{ItemSorter, RowOrder};
use super::parts::PARTS;
use super::users::Users;
use super::vocabulary::Vocabulary;
use crate::numeric::widths::clipped;
use crate::random::Digest;
use crate::runtime::memory::Array;
use crate::runtime::{Control, Tally, parallel};
use crate::{Error, Result};

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
    let rows = |part| chunks.iter().map(|chunk| chunk.rows_of(part)).sum::<usize>();
    let total = (0..PARTS).map(rows).sum();
    let threads = parallel::threads_for(total, control);
    // An item of each row. A digest, a start and two numbers of rows for each place.
    control.charge_memory((total * 4 + users.all_places() * 32) as u64, "grouping rows by user")?;
    let tally = control.tally(100, 2 * PARTS);
    let sizes = parallel::map(threads, (0..PARTS).collect(), |part| Size::new(part, users, &chunks, tally));
    let sizes: Vec<Size> = sizes.into_iter().collect::<Result<_>>()?;
    control.check()?;
    let count = sizes.iter().map(|size| size.users).sum();
    let (mut starts, mut lens, mut digests) =
        (vec![0; count], vec![0; count], vec![Digest::default(); count]);
    let mut items = Array::<u32>::zeroed(total);
    let columns = Columns { digests: &mut digests, starts: &mut starts, lens: &mut lens };
    let parts = split(&sizes, parallel::parts_for(threads), columns, items.as_mut_slice());
    let sorter = ItemSorter::new(order, &vocabulary);
    let done = parallel::map(threads, parts, |part| part.group(&sizes, users, &chunks, &sorter, tally));
    done.into_iter().collect::<Result<()>>()?;
    let in_order = matches!(order, RowOrder::Items(_));
    let kept: usize = lens.iter().map(|len| *len as usize).sum();
    let bytes: usize = chunks.iter().map(Chunk::bytes).sum();
    parallel::free(threads, chunks);
    control.release_memory((bytes + (total - kept) * 4 + users.all_places() * 4) as u64);
    Ok(Contributions { users: digests, starts, lens, items, in_order, vocabulary })
}

/// The users of some parts.
struct Columns<'a> {
    digests: &'a mut [Digest],
    starts: &'a mut [usize],
    lens: &'a mut [u32],
}

impl<'a> Columns<'a> {
    /// The first `count`. The others stay.
    fn take(&mut self, count: usize) -> Columns<'a> {
        let (digests, rest_digests) = std::mem::take(&mut self.digests).split_at_mut(count);
        let (starts, rest_starts) = std::mem::take(&mut self.starts).split_at_mut(count);
        let (lens, rest_lens) = std::mem::take(&mut self.lens).split_at_mut(count);
        *self = Columns { digests: rest_digests, starts: rest_starts, lens: rest_lens };
        Columns { digests, starts, lens }
    }
}

/// Users and rows of a part.
#[derive(Debug)]
struct Size {
    users: usize,
    rows: usize,
    /// The number of rows of each place.
    of_places: Vec<u32>,
}

impl Size {
    fn new(part: usize, users: &Users, chunks: &[Chunk], tally: Tally<'_>) -> Result<Self> {
        const TOO_MANY: Error = Error::Capacity { what: "rows of one user", limit: u32::MAX as u64 };
        let mut counts = vec![0_usize; users.places(part)];
        for chunk in chunks {
            chunk.count(part, &mut counts);
        }
        let rows = counts.iter().sum();
        let of_places = counts.into_iter().map(|count| u32::try_from(count).map_err(|_| TOO_MANY));
        let of_places: Vec<u32> = of_places.collect::<Result<_>>()?;
        tally.add(1);
        Ok(Self { users: users.count(part, &of_places), rows, of_places })
    }
}

/// A range of parts and its stretch of the result, filled by one thread. Duplicates leave free space at the end of the
/// stretch, which is never written.
struct Stretch<'a> {
    parts: Range<usize>,
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
    let (mut first, mut first_row) = (0, 0);
    let mut result = Vec::with_capacity(stretches);
    for end in parallel::balanced_ends(rows, stretches) {
        let parts = first..end;
        let users = sizes[parts.clone()].iter().map(|size| size.users).sum();
        let rows = sizes[parts.clone()].iter().map(|size| size.rows).sum();
        let (own_items, rest_items) = items.split_at_mut(rows);
        result.push(Stretch { parts, first_row, columns: columns.take(users), items: own_items });
        items = rest_items;
        (first, first_row) = (end, first_row + rows);
    }
    result
}

impl Stretch<'_> {
    fn group(
        self,
        sizes: &[Size],
        users: &Users,
        chunks: &[Chunk],
        sorter: &ItemSorter<'_>,
        tally: Tally<'_>,
    ) -> Result<()> {
        let Self { parts, mut first_row, mut columns, mut items } = self;
        let (mut seen, mut grouped, mut known) = (SeenItems::default(), Vec::new(), Vec::new());
        for part in parts {
            let Size { users: count, rows, of_places } = &sizes[part];
            let Columns { digests, starts, lens } = columns.take(*count);
            grouped.resize((*rows).max(grouped.len()), 0);
            group_part(part, chunks, of_places, &mut grouped[..*rows]);
            users.digests(part, of_places, &mut known);
            let mut result = digests.iter_mut().zip(starts).zip(lens);
            let mut rest = grouped.as_mut_slice();
            for (own_digest, rows) in known.iter().zip(of_places) {
                let (own, others) = rest.split_at_mut(*rows as usize);
                rest = others;
                if *own_digest == 0 {
                    continue;
                }
                let ((digest, start), len) = result.next().ok_or(MISCOUNTED)?;
                *len = sorter.sort(own, &mut seen);
                let (kept, free) = items.split_at_mut(*len as usize);
                kept.copy_from_slice(&own[..kept.len()]);
                (*digest, *start) = (Digest(*own_digest), first_row);
                first_row += kept.len();
                items = free;
            }
            if result.next().is_some() {
                return Err(MISCOUNTED);
            }
            tally.add(1);
        }
        Ok(())
    }
}

const MISCOUNTED: Error = Error::Internal("a part has another number of users than were counted");

/// Counting sort of one part's rows by user.
fn group_part(part: usize, chunks: &[Chunk], of_places: &[u32], items: &mut [u32]) {
    let mut end = 0;
    let starts = of_places.iter().map(|rows| {
        let start = end;
        end += *rows as usize;
        start
    });
    let mut cursors: Vec<usize> = starts.collect();
    for chunk in chunks {
        chunk.place(part, &mut cursors, items);
    }
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
