//! Codes of the items that several users may hold, with their digests: 25 bytes for each.
//!
//! The user counts give the hashes of these items before any item is met. Each hash has a code: the more users, the
//! smaller, so that what is known of frequent items fits into caches. No table of digests is needed. Where two items
//! have one hash, the second gets a code beyond.

use std::cmp::Reverse;
use std::hint::black_box;

use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};
use dpsel_rows::runtime::memory::Growing;

use crate::exchange::{ByDigest, item_hash};

/// Bytes that an item takes while codes are given: its hash, code and digest, and a quarter of an entry of `starts`.
pub(super) const BYTES: usize = 25;

/// Items looked up together, so that their cache misses overlap.
const AHEAD: usize = 256;

/// The hashes of shared items, in ascending order.
#[derive(Debug)]
pub(super) struct Hashes {
    /// Each hash with its code.
    coded: Vec<(u32, u32)>,
    /// Where the hashes with each number as leading bits start; the last entry is the end.
    starts: Vec<u32>,
    /// How far a hash is shifted to leave these bits.
    shift: u32,
}

impl Hashes {
    /// Give codes to hashes, each with its users. The users by code come back.
    pub(super) fn new(mut counts: Vec<(u32, u32)>) -> (Self, Vec<u32>) {
        counts.sort_unstable_by_key(|(hash, users)| (Reverse(*users), *hash));
        let users = counts.iter().map(|(_, users)| *users).collect();
        let mut coded = counts;
        coded.iter_mut().zip(0..).for_each(|((_, value), code)| *value = code);
        coded.sort_unstable();
        // About four to eight hashes have the same leading bits, and are looked through together.
        let leading = (coded.len() / 4).max(2).ilog2();
        let shift = u32::BITS - leading;
        let (mut starts, mut end) = (Vec::with_capacity((1 << leading) + 1), 0);
        for bits in 0..1 << leading {
            starts.push(codes(end));
            end += coded[end..].iter().take_while(|(hash, _)| *hash >> shift == bits).count();
        }
        starts.push(codes(end));
        (Self { coded, starts, shift }, users)
    }

    pub(super) fn len(&self) -> usize {
        self.coded.len()
    }

    /// The code of the hash of each item; none if it is not among them.
    ///
    /// The first loop finds the places, and the second reads one entry of each. No branch depends on what they read, so the
    /// processor overlaps the reads. `black_box` keeps the compiler from leaving the second loop out.
    pub(super) fn codes_of(&self, items: &[Digest], found: &mut Vec<Option<u32>>) {
        found.clear();
        let Some(last) = self.coded.len().checked_sub(1) else {
            return found.resize(items.len(), None);
        };
        let mut ranges = [(0, 0, 0); AHEAD];
        for items in items.chunks(AHEAD) {
            let ranges = &mut ranges[..items.len()];
            for (range, item) in ranges.iter_mut().zip(items) {
                let hash = item_hash(*item);
                let at = index((hash >> self.shift).into());
                *range = (hash, index(self.starts[at].into()), index(self.starts[at + 1].into()));
            }
            black_box(ranges.iter().fold(0, |mixed, (_, start, _)| mixed ^ self.coded[(*start).min(last)].0));
            found.extend(ranges.iter().map(|(hash, start, end)| {
                let alike = self.coded[*start..*end].iter().find(|(other, _)| other == hash);
                alike.map(|(_, code)| *code)
            }));
        }
    }
}

/// The items that were met so far.
#[derive(Debug)]
pub(super) struct Numbered {
    /// The first item with each code; zero before there is one. It goes back to the system as soon as it is dropped.
    first: Growing<u128>,
    /// Items whose hash another one has.
    others: ByDigest<u32>,
    most: usize,
}

/// The same, to look many items up.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedItems<'a> {
    first: &'a [u128],
    others: &'a ByDigest<u32>,
}

impl NumberedItems<'_> {
    /// The code of an item whose hash has this one, if it was met before.
    #[inline]
    pub(super) fn code(self, code: u32, item: Digest) -> Option<u32> {
        if self.first[code as usize] == item.0 { Some(code) } else { self.others.get(&item).copied() }
    }
}

impl Numbered {
    /// No item yet. There may be at most `most` of them.
    ///
    /// There is room for more items than one expects to share a hash, so that the list is not copied at the end. Room that is
    /// not used takes no memory.
    pub(super) fn new(hashes: &Hashes, most: usize) -> Self {
        let len = hashes.len();
        Self { first: Growing::zeroed(len, len / 4 + 16), others: ByDigest::default(), most }
    }

    pub(super) fn known(&self) -> NumberedItems<'_> {
        NumberedItems { first: self.first.as_slice(), others: &self.others }
    }

    /// The code of an item whose hash has this one.
    ///
    /// # Errors
    /// [`Error::Capacity`] for too many items.
    pub(super) fn code(&mut self, code: u32, item: Digest) -> Result<u32> {
        let first = &mut self.first.as_mut_slice()[code as usize];
        if *first == 0 {
            *first = item.0;
        }
        if *first == item.0 {
            return Ok(code);
        }
        let next = self.first.len() + self.others.len();
        if next >= self.most {
            return Err(Error::Capacity { what: "items of several users", limit: self.most as u64 });
        }
        Ok(*self.others.entry(item).or_insert(codes(next)))
    }

    /// The items by code. Codes of items that were not met have zero.
    pub(super) fn items(self) -> Growing<u128> {
        let (mut items, mut others) = (self.first, vec![0; self.others.len()]);
        for (item, code) in self.others {
            others[code as usize - items.len()] = item.0;
        }
        items.extend(others.into_iter());
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(hash: u32, rest: u128) -> Digest {
        Digest(u128::from(hash) << 96 | rest)
    }

    fn code_of(hashes: &Hashes, item: Digest) -> Option<u32> {
        let mut found = vec![Some(9)];
        hashes.codes_of(&[item], &mut found);
        let [found] = found[..] else { panic!("one item has one code") };
        found
    }

    #[test]
    fn every_shared_item_has_a_code_of_its_own() {
        let (hashes, users) = Hashes::new(vec![(7, 2), (u32::MAX, 9), (0, 2), (1 << 16, 5)]);
        assert_eq!((hashes.len(), users), (4, vec![9, 5, 2, 2]));
        let mut numbered = Numbered::new(&hashes, 100);
        let mut code = |hash, rest| {
            let item = item(hash, rest);
            let of_hash = code_of(&hashes, item)?;
            let known = numbered.known().code(of_hash, item);
            let code = numbered.code(of_hash, item).unwrap();
            assert!(known.is_none_or(|known| known == code));
            assert_eq!(numbered.known().code(of_hash, item), Some(code));
            Some(code)
        };
        assert_eq!([code(7, 1), code(7, 2), code(7, 3), code(7, 1), code(7, 2)], [3, 4, 5, 3, 4].map(Some));
        assert_eq!([code(0, 9), code(u32::MAX, 9), code(1 << 16, 9)], [2, 0, 1].map(Some));
        assert_eq!([code(1, 9), code(8, 1), code(u32::MAX - 1, 1)], [None; 3]);
        let items: Vec<Digest> = numbered.items().as_slice().iter().copied().map(Digest).collect();
        assert_eq!(
            items,
            [item(u32::MAX, 9), item(1 << 16, 9), item(0, 9), item(7, 1), item(7, 2), item(7, 3)]
        );
    }

    #[test]
    fn more_items_than_codes_are_an_error() {
        let (hashes, _) = Hashes::new(vec![(7, 2)]);
        let mut numbered = Numbered::new(&hashes, 1);
        assert_eq!(numbered.code(0, item(7, 1)).unwrap(), 0);
        assert!(numbered.code(0, item(7, 2)).is_err());
    }

    #[test]
    fn every_hash_is_found() {
        for len in [0, 1, 3, 9, 100, 5000] {
            let all: Vec<u32> = (0..len).map(|n: u32| n.wrapping_mul(0x9e37_79b9)).collect();
            let (hashes, _) =
                Hashes::new(all.iter().zip((0..len).rev()).map(|(hash, users)| (*hash, users)).collect());
            let mut found = Vec::new();
            let items: Vec<Digest> = all.iter().map(|hash| item(*hash, 1)).collect();
            hashes.codes_of(&items, &mut found);
            assert!(found.into_iter().eq((0..len).map(Some)));
            let other = all.iter().map(|hash| hash.wrapping_add(1)).filter(|hash| !all.contains(hash));
            assert!(other.map(|hash| item(hash, 1)).all(|item| code_of(&hashes, item).is_none()));
            assert_eq!(code_of(&hashes, item(u32::MAX, 1)), None);
        }
    }
}
