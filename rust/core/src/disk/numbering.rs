//! Codes of the items that several users may hold, with their digests: 25 bytes for each.
//!
//! The user counts give the hashes of these items before any item is met. Each hash has a code: the more users, the
//! smaller, so that what is known of frequent items fits into caches. No table of digests is needed. Where two items
//! have one hash, the second gets a code beyond.

use std::cmp::Reverse;

use crate::exchange::{ByDigest, item_hash};
use crate::numeric::widths::{codes, index};
use crate::random::Digest;
use crate::{Error, Result};

/// Bytes that an item takes while codes are given: its hash, code and digest, and a quarter of an entry of `starts`.
pub(super) const BYTES: usize = 25;

/// The hashes of shared items, in ascending order.
#[derive(Debug)]
pub(super) struct Hashes {
    ascending: Vec<u32>,
    /// The code of each hash.
    codes: Vec<u32>,
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
        let mut coded: Vec<(u32, u32)> =
            counts.into_iter().zip(0..).map(|((hash, _), code)| (hash, code)).collect();
        coded.sort_unstable();
        let (hashes, codes_of): (Vec<u32>, Vec<u32>) = coded.into_iter().unzip();
        // About four to eight hashes have the same leading bits, and are looked through together.
        let leading = (hashes.len() / 4).max(2).ilog2();
        let shift = u32::BITS - leading;
        let (mut starts, mut end) = (Vec::with_capacity((1 << leading) + 1), 0);
        for bits in 0..1 << leading {
            starts.push(codes(end));
            end += hashes[end..].iter().take_while(|hash| **hash >> shift == bits).count();
        }
        starts.push(codes(end));
        (Self { ascending: hashes, codes: codes_of, starts, shift }, users)
    }

    pub(super) fn len(&self) -> usize {
        self.ascending.len()
    }

    /// The code of the hash of an item; none if it is not among them.
    #[inline]
    pub(super) fn code(&self, item: Digest) -> Option<u32> {
        let hash = item_hash(item);
        let bucket = index((hash >> self.shift).into());
        let [start, end] = [self.starts[bucket], self.starts[bucket + 1]].map(|at| index(at.into()));
        let at = self.ascending[start..end].iter().position(|other| *other == hash)?;
        Some(self.codes[start + at])
    }
}

/// The items that were met so far.
#[derive(Debug)]
pub(super) struct Numbered {
    /// The first item with each code; zero before there is one.
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

    /// The code of an item whose hash has this one, if it was met before.
    #[inline]
    pub(super) fn known(&self, code: u32, item: Digest) -> Option<u32> {
        if self.first[code as usize] == item { Some(code) } else { self.others.get(&item).copied() }
    }

    /// The code of an item whose hash has this one.
    ///
    /// # Errors
    /// [`Error::Capacity`] for too many items.
    pub(super) fn code(&mut self, code: u32, item: Digest) -> Result<u32> {
        let first = &mut self.first[code as usize];
        if *first == Digest::default() {
            *first = item;
        }
        if *first == item {
            return Ok(code);
        }
        let next = self.first.len() + self.others.len();
        if next >= self.most {
            return Err(Error::Capacity { what: "items of several users", limit: self.most as u64 });
        }
        Ok(*self.others.entry(item).or_insert(codes(next)))
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
        let (hashes, users) = Hashes::new(vec![(7, 2), (u32::MAX, 9), (0, 2), (1 << 16, 5)]);
        assert_eq!((hashes.len(), users), (4, vec![9, 5, 2, 2]));
        let mut numbered = Numbered::new(&hashes, 100);
        let mut code = |hash, rest| {
            let item = item(hash, rest);
            let of_hash = hashes.code(item)?;
            let known = numbered.known(of_hash, item);
            let code = numbered.code(of_hash, item).unwrap();
            assert!(known.is_none_or(|known| known == code));
            assert_eq!(numbered.known(of_hash, item), Some(code));
            Some(code)
        };
        assert_eq!([code(7, 1), code(7, 2), code(7, 3), code(7, 1), code(7, 2)], [3, 4, 5, 3, 4].map(Some));
        assert_eq!([code(0, 9), code(u32::MAX, 9), code(1 << 16, 9)], [2, 0, 1].map(Some));
        assert_eq!([code(1, 9), code(8, 1), code(u32::MAX - 1, 1)], [None; 3]);
        let items = numbered.items();
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
            assert!((0..).zip(&all).all(|(code, hash)| hashes.code(item(*hash, 1)) == Some(code)));
            let other = all.iter().map(|hash| hash.wrapping_add(1)).filter(|hash| !all.contains(hash));
            assert!(other.map(|hash| item(hash, 1)).all(|item| hashes.code(item).is_none()));
            assert_eq!(hashes.code(item(u32::MAX, 1)), None);
        }
    }
}
