//! From chunks to contributions: every user's rows side by side, without duplicates.
//!
//! Users are numbered part by part. A part is small enough that counting, scattering and removing duplicates stay in
//! the cache. Parts are independent of each other. A thread groups the parts of a band, and then gives back the rows of
//! the band. Only distinct rows are written to the result.

use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use super::chunk::Band;
use super::distinct::SeenItems;
use super::order::{ItemSorter, RowOrder};
use super::parts::{BANDS, PARTS, PARTS_OF_BAND, part_of_band};
use super::pieces::{Piece, PieceWriter, Spare, Start};
use super::user_items::Contributions;
use super::users::Users;
use super::vocabulary::Vocabulary;
use crate::runtime::{Control, Tally, parallel};

/// Bytes of the item of a row.
const ITEM_BYTES: usize = size_of::<u32>();

/// Bytes that grouping takes: an item of each row; a digest, a start and two numbers of rows for each place of a user.
pub(super) fn bytes(rows: usize, places: usize) -> usize {
    rows * ITEM_BYTES + places * 32
}

/// Bytes that are given back after it: what the chunks took, items of rows that are dropped, and a number of rows for each
/// place.
pub(super) fn bytes_given_back(chunks: usize, dropped: usize, places: usize) -> usize {
    chunks + dropped * ITEM_BYTES + places * size_of::<u32>()
}

/// Group the rows of all chunks by user. `bands[b]` has the rows of band `b` of every chunk.
///
/// # Errors
/// Capacity or memory limit.
pub(super) fn group_rows(
    users: &Users,
    bands: Vec<Vec<Band>>,
    vocabulary: Vocabulary,
    order: &RowOrder,
    control: &Control,
) -> Result<Contributions> {
    let total = bands.iter().flatten().map(Band::rows).sum();
    let chunks = bands.iter().flatten().map(Band::bytes).sum();
    let threads = parallel::threads_for(total, control);
    control.charge_memory(bytes(total, users.all_places()) as u64, "grouping rows by user")?;
    let tally = control.tally(100, 2 * PARTS);
    let parts = (0..BANDS).flat_map(|band| (0..PARTS_OF_BAND).map(move |number| (band, number)));
    let sizes = parallel::map(threads, parts.collect(), |part| PartSize::new(part, users, &bands, tally));
    let sizes: Vec<PartSize> = sizes.into_iter().collect::<Result<_>>()?;
    control.check()?;
    let count = sizes.iter().map(|size| size.users).sum();
    let (mut starts, mut lens, mut digests) =
        (vec![Start::default(); count], vec![0; count], vec![Digest::default(); count]);
    let columns = PartColumns { digests: &mut digests, starts: &mut starts, lens: &mut lens };
    let (spare, sorter) = (Spare::default(), ItemSorter::new(order, &vocabulary));
    let ungrouped = ungrouped_bands(&sizes, bands, columns);
    let done = parallel::map(threads, ungrouped, |band| band.group(users, &sorter, &spare, tally));
    let done: Vec<(usize, Vec<Piece>)> = done.into_iter().collect::<Result<_>>()?;
    let mut pieces = Vec::new();
    for (first, more) in done {
        // Otherwise: the band has no users.
        let users = first..more.last().map_or(first, |piece| piece.users.end);
        let before = codes(pieces.len());
        starts[users].iter_mut().for_each(|start| start.piece += before);
        pieces.extend(more);
    }
    let in_order = matches!(order, RowOrder::Items(_));
    let kept: usize = lens.iter().map(|len| *len as usize).sum();
    parallel::free(threads, spare.into_arrays());
    control.release_memory(bytes_given_back(chunks, total - kept, users.all_places()) as u64);
    Ok(Contributions { users: digests, starts, lens, pieces, rows: total, in_order, vocabulary })
}

/// The users of some parts.
struct PartColumns<'a> {
    digests: &'a mut [Digest],
    starts: &'a mut [Start],
    lens: &'a mut [u32],
}

impl<'a> PartColumns<'a> {
    /// The first `count`. The others stay.
    fn take(&mut self, count: usize) -> PartColumns<'a> {
        let (digests, rest_digests) = std::mem::take(&mut self.digests).split_at_mut(count);
        let (starts, rest_starts) = std::mem::take(&mut self.starts).split_at_mut(count);
        let (lens, rest_lens) = std::mem::take(&mut self.lens).split_at_mut(count);
        *self = PartColumns { digests: rest_digests, starts: rest_starts, lens: rest_lens };
        PartColumns { digests, starts, lens }
    }
}

/// Users and rows of a part.
#[derive(Debug)]
struct PartSize {
    users: usize,
    rows: usize,
    /// The number of rows of each place.
    of_places: Vec<u32>,
}

impl PartSize {
    fn new(
        (band, number): (usize, usize),
        users: &Users,
        bands: &[Vec<Band>],
        tally: Tally<'_>,
    ) -> Result<Self> {
        const TOO_MANY: Error = Error::Capacity { what: "rows of one user", limit: u32::MAX as u64 };
        let part = part_of_band(band, number);
        let mut counts = vec![0_usize; users.places(part)];
        for band in &bands[band] {
            band.count(number, &mut counts);
        }
        let rows = counts.iter().sum();
        let of_places = counts.into_iter().map(|count| u32::try_from(count).map_err(|_| TOO_MANY));
        let of_places: Vec<u32> = of_places.collect::<Result<_>>()?;
        tally.add(1);
        Ok(Self { users: users.count(part, &of_places), rows, of_places })
    }
}

/// The rows of a band, grouped by one thread.
struct UngroupedBand<'a> {
    band: usize,
    /// The number of the first user.
    user: usize,
    sizes: &'a [PartSize],
    bands: Vec<Band>,
    columns: PartColumns<'a>,
}

fn ungrouped_bands<'a>(
    sizes: &'a [PartSize],
    bands: Vec<Vec<Band>>,
    mut columns: PartColumns<'a>,
) -> Vec<UngroupedBand<'a>> {
    let mut user = 0;
    let of_bands = bands.into_iter().zip(sizes.chunks(PARTS_OF_BAND)).enumerate();
    let mut ungrouped = Vec::with_capacity(BANDS);
    for (band, (bands, sizes)) in of_bands {
        let users = sizes.iter().map(|size| size.users).sum();
        ungrouped.push(UngroupedBand { band, user, sizes, bands, columns: columns.take(users) });
        user += users;
    }
    ungrouped
}

impl UngroupedBand<'_> {
    /// Group the rows. Returns the number of the first user, and the pieces with the items of all its users.
    fn group(
        self,
        users: &Users,
        sorter: &ItemSorter<'_>,
        spare: &Spare,
        tally: Tally<'_>,
    ) -> Result<(usize, Vec<Piece>)> {
        let Self { band, user, sizes, bands, mut columns } = self;
        let (mut seen, mut grouped, mut known) = (SeenItems::default(), Vec::new(), Vec::new());
        let mut writer = PieceWriter::new(spare, user, sizes.iter().map(|size| size.rows).sum());
        for (number, PartSize { users: count, rows, of_places }) in sizes.iter().enumerate() {
            let PartColumns { digests, starts, lens } = columns.take(*count);
            grouped.resize((*rows).max(grouped.len()), 0);
            group_part(number, &bands, of_places, &mut grouped[..*rows]);
            users.digests(part_of_band(band, number), of_places, &mut known);
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
                (*digest, *start) = (Digest(*own_digest), writer.push(&own[..*len as usize], own.len()));
            }
            if result.next().is_some() {
                return Err(MISCOUNTED);
            }
            tally.add(1);
        }
        spare.put(bands.into_iter().flat_map(Band::into_memory));
        Ok((user, writer.into_pieces()))
    }
}

const MISCOUNTED: Error = Error::Internal("a part has another number of users than were counted");

/// Counting sort of one part's rows by user.
fn group_part(number: usize, bands: &[Band], of_places: &[u32], items: &mut [u32]) {
    let mut end = 0;
    let starts = of_places.iter().map(|rows| {
        let start = end;
        end += *rows as usize;
        start
    });
    let mut cursors: Vec<usize> = starts.collect();
    for band in bands {
        band.copy_items(number, &mut cursors, items);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use dpsel_exact::random::{Purpose, ReleaseKey};

    use super::super::testing::{contributions, item_digest};
    use super::*;
    use crate::ingest::ItemCode;
    use crate::ingest::testing::digests;

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
            let items =
                |items: &[u32]| items.iter().map(|item| known.get(ItemCode(*item))).collect::<BTreeSet<_>>();
            let found = grouped.users.iter().copied().zip(grouped.items_by_user().map(items));
            assert_eq!(grouped.users.len(), expected.len());
            assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
