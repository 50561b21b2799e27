//! The users of one bucket with all their distinct items, straight from packed values.
//!
//! The items of one run are distinct, so a user of one run is handed out as it is. Users from a table, or whose rows stand
//! side by side, mostly have one. Scattered rows that went straight to the disk are a run each. So runs are put in order
//! of their users, and the items of users with several are compared.

use std::ops::Range;

use dpsel_core::bounding::PlacedItems;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::{CodedWords, Digest, ReleaseKey, agree, code_of, order_ties, with_code};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::Lineage;
use dpsel_rows::runtime::Control;
use dpsel_rows::scratch::Stored;

use crate::exchange::wire::{ByDigest, Dictionaries, PackedUsers};

/// The users of a bucket. Items go by their places among all items of the bucket. An item may have several.
#[derive(Debug)]
pub(crate) struct BucketUsers {
    dictionaries: Dictionaries,
    /// The item of each place.
    pub(crate) items: Vec<Digest>,
    /// Where items stand above others, each has one place: which places stand above which, and the place of each item.
    lineage: Option<Lineage>,
    known: ByDigest<u32>,
    rows: Vec<u32>,
    /// Each user, once for each run of it in each value.
    users: Vec<(Digest, Range<usize>)>,
    /// The runs in order of their users.
    in_order: CodedWords,
    /// The items of one user.
    keyed: CodedWords,
}

impl BucketUsers {
    pub(crate) fn new(key: &ReleaseKey) -> Self {
        let dictionaries = Dictionaries::new(key);
        let [in_order, keyed] = [(); 2].map(|()| CodedWords::default());
        Self {
            dictionaries,
            items: Vec::new(),
            lineage: None,
            known: ByDigest::default(),
            rows: Vec::new(),
            users: Vec::new(),
            in_order,
            keyed,
        }
    }

    /// Start anew with all values of a bucket in scratch.
    ///
    /// # Errors
    /// Those of scratch; an interruption; as [`BucketUsers::push`].
    pub(crate) fn read(
        &mut self,
        contributions: &Stored,
        values: Range<usize>,
        control: &Control,
    ) -> Result<()> {
        self.clear();
        contributions.each(values, |value| {
            control.check()?;
            self.push(value)
        })
    }

    /// All items.
    pub(crate) fn placed(&self) -> PlacedItems<'_> {
        PlacedItems { digests: &self.items, lineage: self.lineage.as_ref() }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Start anew, and keep the memory.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.lineage = None;
        self.known.clear();
        self.rows.clear();
        self.users.clear();
    }

    /// Add a packed value.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged; [`Error::Capacity`] for too many items or runs.
    pub(crate) fn push(&mut self, packed: &[u8]) -> Result<()> {
        let limit = u32::MAX.into();
        let first = self.items.len();
        let mut packed = PackedUsers::unpack(packed, &self.dictionaries, &mut self.items)?;
        let places = packed.lines().map(|lines| self.meet(first, &lines));
        if self.items.len() > u32::MAX as usize {
            return Err(Error::Capacity { what: "items of one bucket of users", limit });
        }
        let first = codes(first);
        let place = |place: u32| places.as_ref().map_or(first + place, |places| places[place as usize]);
        packed.each(|user, places| {
            let start = self.rows.len();
            // Where every row is kept, rows of one item stand side by side.
            self.rows.extend(places.chunk_by(|a, b| a == b).map(|rows| place(rows[0])));
            self.users.push((user, start..self.rows.len()));
            Ok(())
        })?;
        if self.users.len() > u32::MAX as usize {
            return Err(Error::Capacity { what: "runs of one bucket of users", limit });
        }
        Ok(())
    }

    /// Meet the items from this place on, with which of them stand above which. Those that are known leave. Returns the
    /// place of each.
    fn meet(&mut self, first: usize, lines: &Lineage) -> Vec<u32> {
        let lineage = self.lineage.get_or_insert_default();
        let (mut places, met) = (Vec::with_capacity(lines.codes()), self.items.split_off(first));
        for (item, at) in met.into_iter().zip(0..) {
            let place = *self.known.entry(item).or_insert_with(|| {
                lineage.push(lines.level(at), lines.above(at).map(|above| places[above as usize]));
                self.items.push(item);
                codes(self.items.len() - 1)
            });
            places.push(place);
        }
        places
    }

    /// Hand out each user once, with the places of its distinct items, which may be put into another order, and a buffer for
    /// that.
    ///
    /// # Errors
    /// Those of `each`.
    pub(crate) fn each_user(
        &mut self,
        mut each: impl FnMut(PlacedItems<'_>, Digest, &mut [u32], &mut CodedWords) -> Result<()>,
    ) -> Result<()> {
        let Self { items: digests, lineage, rows, users, in_order, keyed, .. } = self;
        let items = PlacedItems { digests, lineage: lineage.as_ref() };
        let user_of = |run: u64| users[code_of(run) as usize].0;
        in_order.fill((0..).zip(users.iter()).map(|(run, (user, _))| with_code(user.0, run)));
        in_order.sort();
        order_ties(&mut in_order.words, |run| users[run as usize].0.0);
        let mut together = Vec::new();
        for runs in in_order.words.chunk_by(|a, b| agree(*a, *b) && user_of(*a) == user_of(*b)) {
            let rows_of = |run: &u64| users[code_of(*run) as usize].1.clone();
            if let [run] = runs {
                each(items, user_of(*run), &mut rows[rows_of(run)], keyed)?;
                continue;
            }
            let places = runs.iter().flat_map(|run| &rows[rows_of(run)]);
            keyed.fill(places.map(|place| with_code(digests[*place as usize].0, *place)));
            distinct(digests, keyed, &mut together);
            each(items, user_of(runs[0]), &mut together, keyed)?;
        }
        Ok(())
    }
}

/// One place of each distinct item. A word has the digest of an item, and its place as code.
fn distinct(items: &[Digest], words: &mut CodedWords, places: &mut Vec<u32>) {
    let item = |word: &u64| items[code_of(*word) as usize];
    words.sort();
    order_ties(&mut words.words, |place| items[place as usize].0);
    words.words.dedup_by(|a, b| agree(*a, *b) && item(a) == item(b));
    places.clear();
    places.extend(words.words.iter().map(|word| code_of(*word)));
}

#[cfg(test)]
mod tests {
    use dpsel_rows::contributions::testing::contributions;

    use super::super::encode::Packing;
    use super::*;
    use crate::exchange::wire::Buckets;

    #[test]
    fn users_of_several_values_have_each_item_once() {
        let key = ReleaseKey::insecure_test([6; 32]);
        let mut bucket = BucketUsers::new(&key);
        for rows in [&[(1, 5), (1, 6), (2, 5)][..], &[(1, 6), (1, 7), (3, 9)], &[(3, 9)]] {
            let table = contributions(rows, &key);
            let packing = Packing::new(&table, &key, Buckets::new(1).unwrap());
            packing.pack(0..packing.users(), |_, packed| bucket.push(&packed)).unwrap();
        }
        let mut lens = Vec::new();
        let count = |items: PlacedItems<'_>, _, places: &mut [u32], _: &mut CodedWords| {
            let mut digests: Vec<Digest> =
                places.iter().map(|place| items.digests[*place as usize]).collect();
            digests.sort_unstable();
            digests.dedup();
            assert_eq!(digests.len(), places.len());
            lens.push(places.len());
            Ok(())
        };
        bucket.each_user(count).unwrap();
        lens.sort_unstable();
        assert_eq!(lens, [1, 1, 3]);
        bucket.clear();
        assert!(bucket.push(&[1, 2, 3]).is_err());
    }
}
