//! The items that several users may hold, each with a number: 25 bytes for each.
//!
//! The user counts give the hashes of these items before any item is met. So each hash gets a place of its own in one
//! table, which is found without a search: the leading bits of a hash give a seed, and hash and seed give the place
//! ("hash, displace and compress": Belazzougui, Botelho and Dietzfelbinger, 2009). There the item is noted when it is first
//! met. So an item costs one read of the table, and no branch that depends on it. Where two items have one hash, the
//! second is noted elsewhere.

use std::hint::black_box;

use dpsel_core::bounding::ItemSet;
use dpsel_exact::numeric::widths::index;
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::ItemCode;
use dpsel_rows::runtime::memory::{Element, Growing};
use zerocopy::little_endian::{U32, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::exchange::{ByDigest, item_hash};

/// Bytes that an item takes: a place, of which five in six are taken, and its part of a seed.
pub(super) const BYTES: usize = 25;
/// Hashes of one seed, at least; on average up to twice as many. The more, the longer it takes to find seeds.
const OF_SEED: usize = 2;
/// The most hashes.
const MOST: usize = 1 << 30;

/// Items looked up together, so that their cache misses overlap.
const AHEAD: usize = 256;

/// What is found in place of a number where the hash is not in the table, and where it is, but not this item.
pub(super) const RARE: u32 = u32::MAX - 1;
pub(super) const NEW: u32 = RARE - 1;
/// What is added to the number of a hash until an item is noted. Other numbers are below it, or [`RARE`] and above.
const UNMET: u32 = 1 << 31;

/// A place of the table.
#[derive(Debug, Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct TablePlace {
    /// The first item with the hash, or the hash with zeros behind it.
    item: U128,
    /// [`RARE`] if there is no hash.
    number: U32,
}

impl Element for TablePlace {}

impl TablePlace {
    #[expect(clippy::cast_possible_truncation, reason = "the first bits are meant")]
    fn first_bits(self) -> u32 {
        self.item.get() as u32
    }
}

/// What the table knows of an item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It was met, and has this number.
    Met(u32),
    /// It is the first one that is met with its hash, which was given this number.
    First(u32),
    /// Another item was met with its hash, or it has none.
    New { is_rare: bool },
}

/// The table.
#[derive(Debug)]
pub(super) struct FrequentTable {
    places: Growing<TablePlace>,
    /// Items that have no place, since another item has the hash, or since there is none.
    others: ByDigest<u32>,
    /// The seed of all hashes with each number as leading bits.
    seeds: Vec<u16>,
    /// How far a hash is shifted to leave these bits.
    shift: u32,
}

impl FrequentTable {
    /// A table of the hashes of user counts, which are sorted on the way. No item is met yet, and all hashes have number 0.
    ///
    /// # Errors
    /// [`Error::Capacity`] for too many hashes.
    pub(super) fn new(counts: &mut [(u32, u32)]) -> Result<Self> {
        if counts.len() > MOST {
            return Err(Error::Capacity { what: "items of several users", limit: MOST as u64 });
        }
        counts.sort_unstable();
        let shift = u32::BITS - (counts.len() / OF_SEED).max(2).ilog2();
        let groups = || counts.chunk_by(|a, b| a.0 >> shift == b.0 >> shift);
        let largest = groups().map(<[_]>::len).fold(0, usize::max);
        let mut len = counts.len() + counts.len() / 5 + 1;
        loop {
            let (mut table, mut taken) = (Self::empty(len, shift), ItemSet::default());
            // Large groups find places while the table is empty, and single hashes always do.
            let mut by_size =
                (1..=largest).rev().flat_map(|size| groups().filter(move |group| group.len() == size));
            if by_size.all(|group| table.put(group, &mut taken)) {
                return Ok(table);
            }
            len += len / 16 + 1;
        }
    }

    /// A table of `len` places without hashes.
    fn empty(len: usize, shift: u32) -> Self {
        let mut places = Growing::zeroed(len, 0);
        places.as_mut_slice().fill(TablePlace { number: RARE.into(), ..TablePlace::default() });
        Self { places, others: ByDigest::default(), seeds: vec![0; 1 << (u32::BITS - shift)], shift }
    }

    /// Put all hashes with the same leading bits into free places, by the first seed that gives each a free one.
    /// Whether there is one. The set of places that are taken fits into caches.
    fn put(&mut self, group: &[(u32, u32)], taken: &mut ItemSet) -> bool {
        let (len, mut places) = (self.places.len(), Vec::with_capacity(group.len()));
        let seed = (0..=u16::MAX).find(|seed| {
            places.clear();
            group.iter().all(|(hash, _)| {
                let place = place(*hash, *seed, len);
                let is_free = !taken.contains(ItemCode::from_index(place)) && !places.contains(&place);
                places.push(place);
                is_free
            })
        });
        let (Some(seed), Some((first, _))) = (seed, group.first()) else { return false };
        self.seeds[index((first >> self.shift).into())] = seed;
        for (place, (hash, _)) in places.into_iter().zip(group) {
            taken.insert(ItemCode::from_index(place));
            let item = u128::from(*hash) << 96;
            self.places.as_mut_slice()[place] = TablePlace { item: item.into(), number: UNMET.into() };
        }
        true
    }

    /// Give a number below 2^30 to a hash of the table.
    pub(super) fn set_number(&mut self, hash: u32, number: u32) {
        let place = self.place_of(hash);
        self.places.as_mut_slice()[place].number = (number | UNMET).into();
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The place that a hash has or would have.
    pub(super) fn place_of(&self, hash: u32) -> usize {
        place(hash, self.seeds[index((hash >> self.shift).into())], self.places.len())
    }

    /// Add the number of each item, or [`RARE`] or [`NEW`]. Of items that have no place only those with a hash of the table
    /// are found.
    ///
    /// The first loop finds the places, and the second reads each. No branch depends on what they read, so the processor
    /// overlaps the reads. `black_box` keeps the compiler from leaving the second loop out.
    pub(super) fn numbers_of(&self, items: &[Digest], found: &mut Vec<u32>) {
        let (table, mut places, first) = (self.places.as_slice(), [0; AHEAD], found.len());
        for items in items.chunks(AHEAD) {
            let places = &mut places[..items.len()];
            for (place, item) in places.iter_mut().zip(items) {
                *place = self.place_of(item_hash(*item));
            }
            // A place may begin in one line of the cache and end in the next.
            let ends = |place: &usize| table[*place].number.get() ^ table[*place].first_bits();
            black_box(places.iter().fold(0, |mixed, place| mixed ^ ends(place)));
            found.extend(places.iter().zip(items).map(|(place, item)| {
                let TablePlace { item: noted, number } = table[*place];
                let otherwise = if (noted.get() ^ item.0) >> 96 == 0 { NEW } else { RARE };
                if noted.get() == item.0 && !is_unmet(number) { number.get() } else { otherwise }
            }));
        }
        if !self.others.is_empty() {
            let new = found[first..].iter_mut().zip(items).filter(|(number, _)| **number == NEW);
            new.for_each(|(number, item)| *number = *self.others.get(item).unwrap_or(&NEW)); // Otherwise: not met yet.
        }
    }

    /// What is known of an item.
    pub(super) fn find(&self, item: Digest) -> Known {
        let TablePlace { item: noted, number } = self.places.as_slice()[self.place_of(item_hash(item))];
        let is_rare = number == RARE || (noted.get() ^ item.0) >> 96 != 0;
        if !is_rare && is_unmet(number) {
            Known::First(number_of_hash(number))
        } else if !is_rare && noted.get() == item.0 {
            Known::Met(number.get())
        } else {
            self.others.get(&item).map_or(Known::New { is_rare }, |number| Known::Met(*number))
        }
    }

    /// Note the number of an item that was not met yet: at the place of its hash, or beside the table.
    pub(super) fn note(&mut self, item: Digest, known: &Known, number: u32) {
        if let Known::First(_) = known {
            let place = self.place_of(item_hash(item));
            self.places.as_mut_slice()[place] = TablePlace { item: item.0.into(), number: number.into() };
        } else {
            self.others.insert(item, number);
        }
    }

    /// The items that have no place, and for how many of them there is room.
    pub(super) fn beside(&self) -> (usize, usize) {
        (self.others.len(), self.others.capacity())
    }

    /// The items in the order of their numbers, those that have no place last. Where no item was noted, the hash stands for it.
    pub(super) fn in_order(&mut self) -> impl Iterator<Item = Digest> {
        let mut others: Vec<_> = self.others.drain().collect();
        others.sort_unstable_by_key(|(_, number)| *number);
        let places = self.places.as_mut_slice();
        places.sort_unstable_by_key(|place| number_of_hash(place.number));
        let taken = places.iter().take_while(|place| place.number != RARE);
        taken.map(|place| Digest(place.item.get())).chain(others.into_iter().map(|(item, _)| item))
    }
}

fn is_unmet(number: U32) -> bool {
    number.get() >> 30 == UNMET >> 30
}

fn number_of_hash(number: U32) -> u32 {
    if is_unmet(number) { number.get() ^ UNMET } else { number.get() }
}

/// The place of a hash for a seed, in a table of so many.
fn place(hash: u32, seed: u16, places: usize) -> usize {
    let mixed = (hash ^ u32::from(seed).wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0xc2b2_ae35);
    // At most 2^31 places, so the product fits.
    index((u64::from(mixed ^ mixed >> 13) * places as u64) >> 32)
}

#[cfg(test)]
mod tests {
    use dpsel_exact::numeric::widths::codes;

    use super::*;

    fn item(hash: u32, rest: u128) -> Digest {
        Digest(u128::from(hash) << 96 | rest)
    }

    fn found(table: &FrequentTable, items: &[Digest]) -> Vec<u32> {
        let mut found = Vec::new();
        table.numbers_of(items, &mut found);
        found
    }

    /// Hashes as they are, and few that agree in nearly all bits.
    fn hashes() -> impl Iterator<Item = Vec<u32>> {
        let spread = [0, 1, 3, 9, 100, 20_000].map(|len| (len, 0x9e37_79b9));
        let alike = [1, 1 << 20, u32::MAX].map(|factor| (9, factor));
        let all = spread.into_iter().chain(alike);
        all.map(|(len, factor)| (0..len).map(|n: u32| n.wrapping_mul(factor)).collect())
    }

    #[test]
    fn items_are_found_by_all_their_bits_and_other_items_are_not() {
        for hashes in hashes() {
            let mut counts: Vec<_> = hashes.iter().map(|hash| (*hash, 2)).collect();
            let mut table = FrequentTable::new(&mut counts).unwrap();
            assert!(table.len() <= hashes.len() * 5 / 4 + 2);
            hashes.iter().zip(0..).for_each(|(hash, number)| table.set_number(*hash, number));
            let [first, second] =
                [1, 2].map(|rest| hashes.iter().map(|hash| item(*hash, rest)).collect::<Vec<_>>());
            assert!(found(&table, &first).iter().all(|found| *found == NEW));
            for (number, item) in (0..).zip(&first) {
                assert_eq!(table.find(*item), Known::First(number));
                table.note(*item, &Known::First(number), number);
                assert_eq!(table.find(*item), Known::Met(number));
            }
            assert!(found(&table, &first).into_iter().eq((0..).take(hashes.len())));
            assert!(found(&table, &second).iter().all(|found| *found == NEW));
            let rare: Vec<_> =
                hashes.iter().map(|hash| hash ^ 1 << 31).filter(|hash| !hashes.contains(hash)).collect();
            for hash in rare {
                assert_eq!(table.find(item(hash, 1)), Known::New { is_rare: true });
                // A free place has the bits of this hash.
                assert!(found(&table, &[item(hash, 1)]) == [RARE] || hash == 0);
            }
            for (number, item) in (hashes.len()..).zip(&second) {
                let new = table.find(*item);
                assert_eq!(new, Known::New { is_rare: false });
                table.note(*item, &new, codes(number));
                assert_eq!(table.find(*item), Known::Met(codes(number)));
            }
            assert!(found(&table, &second).into_iter().eq((codes(hashes.len())..).take(hashes.len())));
            assert!(table.in_order().eq([first, second].concat()));
        }
    }

    /// What stands in a place before an item is noted is the digest of an item too.
    #[test]
    fn an_item_that_looks_like_a_hash_or_a_free_place_is_met_like_others() {
        let mut table = FrequentTable::new(&mut [(7, 2)]).unwrap();
        assert_eq!(found(&table, &[item(7, 0)]), [NEW]);
        table.note(item(7, 0), &Known::First(0), 5);
        assert_eq!(found(&table, &[item(7, 0), item(7, 1)]), [5, NEW]);
        assert_eq!(found(&table, &[item(0, 0)]), [RARE]);
        assert_eq!(table.find(item(0, 0)), Known::New { is_rare: true });
    }

    /// Numbers that mean something else than that nothing is noted.
    #[test]
    fn any_code_of_candidates_can_be_noted() {
        for number in [0, 1 << 30, (1 << 31) - 1, u32::MAX] {
            let mut table = FrequentTable::new(&mut [(7, 2), (8, 9)]).unwrap();
            table.note(item(7, 3), &Known::First(0), number);
            assert_eq!(found(&table, &[item(7, 3), item(8, 3)]), [number, NEW]);
        }
    }
}
