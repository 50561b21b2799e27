//! Codes of the items that several users may hold, with their digests: 20 bytes for each.
//!
//! The user counts give the hashes of these items before any item is met. So the code of an item is the place of its
//! hash among them, and no table of digests is needed. Where two items have one hash, the second gets a code beyond.

use crate::exchange::{ByDigest, item_hash};
use crate::numeric::widths::{codes, index};
use crate::random::Digest;
use crate::{Error, Result};

/// Bytes that an item takes while codes are given: its hash and its digest.
pub(super) const BYTES: usize = 20;
/// Hashes with the same leading bits are searched together.
const LEADING: u32 = 16;

/// The hashes of shared items, in ascending order.
#[derive(Debug)]
pub(super) struct Hashes {
    hashes: Vec<u32>,
    /// Where the hashes with each number as leading bits start; the last entry is the end.
    starts: Vec<u32>,
}

impl Hashes {
    pub(super) fn new(mut hashes: Vec<u32>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        let leading = |bits: u64| hashes.partition_point(|hash| u64::from(*hash) < bits << (32 - LEADING));
        let starts = (0..=1 << LEADING).map(|bits| codes(leading(bits))).collect();
        Self { hashes, starts }
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The place of the hash of an item; none if one user at most holds the item.
    fn place(&self, item: Digest) -> Option<usize> {
        let hash = item_hash(item);
        let bucket = index((hash >> (32 - LEADING)).into());
        let [start, end] = [self.starts[bucket], self.starts[bucket + 1]].map(|at| index(at.into()));
        self.hashes[start..end].binary_search(&hash).ok().map(|at| start + at)
    }
}

/// The items that were met so far.
#[derive(Debug)]
pub(super) struct Numbered {
    /// The first item with each hash; zero before there is one.
    first: Vec<Digest>,
    /// Items whose hash another one has.
    others: ByDigest<u32>,
    most: usize,
}

impl Numbered {
    /// No item yet. There may be at most `most` of them.
    pub(super) fn new(hashes: &Hashes, most: usize) -> Self {
        Self { first: vec![Digest::default(); hashes.len()], others: ByDigest::default(), most }
    }

    /// The code of an item; none if one user at most holds it.
    ///
    /// # Errors
    /// [`Error::Capacity`] for too many items.
    pub(super) fn code(&mut self, hashes: &Hashes, item: Digest) -> Result<Option<u32>> {
        let Some(place) = hashes.place(item) else { return Ok(None) };
        let first = &mut self.first[place];
        if *first == Digest::default() {
            *first = item;
        }
        if *first == item {
            return Ok(Some(codes(place)));
        }
        let next = self.first.len() + self.others.len();
        if next >= self.most {
            return Err(Error::Capacity { what: "items of several users", limit: self.most as u64 });
        }
        Ok(Some(*self.others.entry(item).or_insert(codes(next))))
    }

    /// The items by code. Codes of items that were not met have zero.
    pub(super) fn items(self) -> Vec<Digest> {
        let (mut items, first) = (self.first, self.others.len());
        let known = items.len();
        items.resize(known + first, Digest::default());
        for (item, code) in self.others {
            items[code as usize] = item;
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(hash: u32, rest: u128) -> Digest {
        Digest(u128::from(hash) << 96 | rest)
    }

    #[test]
    fn every_shared_item_has_a_code_of_its_own() {
        let hashes = Hashes::new(vec![7, u32::MAX, 0, 1 << 16, 7]);
        assert_eq!(hashes.len(), 4);
        let mut numbered = Numbered::new(&hashes, 100);
        let mut code = |hash, rest| numbered.code(&hashes, item(hash, rest)).unwrap();
        assert_eq!([code(7, 1), code(7, 2), code(7, 3), code(7, 1), code(7, 2)], [1, 4, 5, 1, 4].map(Some));
        assert_eq!([code(0, 9), code(u32::MAX, 9), code(1 << 16, 9)], [0, 3, 2].map(Some));
        assert_eq!([code(1, 9), code(8, 1), code(u32::MAX - 1, 1)], [None; 3]);
        let items = numbered.items();
        assert_eq!(
            items,
            [item(0, 9), item(7, 1), item(1 << 16, 9), item(u32::MAX, 9), item(7, 2), item(7, 3)]
        );
    }

    #[test]
    fn more_items_than_codes_are_an_error() {
        let hashes = Hashes::new(vec![7]);
        let mut numbered = Numbered::new(&hashes, 1);
        assert_eq!(numbered.code(&hashes, item(7, 1)).unwrap(), Some(0));
        assert!(numbered.code(&hashes, item(7, 2)).is_err());
    }
}
