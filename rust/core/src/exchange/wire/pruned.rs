//! Pruned users as bytes: the number of a user's items, and the items among them that some round can release.
//!
//! Layout, all little-endian: the number of items (`u32`) and of users (`u32`); the digests of the items; the most
//! users of each item. Then for each user the number of its items, the number of its
//! kept items, and for each kept item its place among the digests. If the user has more items than the bound, the
//! number of left out items between this kept item and the one before follows each place. All but the first two and the
//! digests are integers of variable length.

use super::bytes::{CORRUPT, push_digest, push_integer, take_digest, take_integer, take_u32};
use crate::Result;
use crate::numeric::widths::codes;
use crate::random::Digest;

/// About the bytes of an item in the dictionary.
const DICTIONARY_BYTES: usize = size_of::<u128>() + 2;

/// An item of a pruned user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrunedItem {
    /// Its place in the dictionary.
    pub(crate) place: usize,
    /// The number of the user's items before it in order of priority. Any order will do for a user within the bound.
    pub(crate) rank: u64,
}

/// Writes pruned users.
#[derive(Debug, Default)]
pub(crate) struct PrunedWriter {
    dictionary: Vec<(Digest, u32)>,
    users: u32,
    body: Vec<u8>,
}

impl PrunedWriter {
    /// Add an item with the most users that it can have, and return its place.
    pub(crate) fn add_item(&mut self, item: Digest, users: u32) -> u32 {
        self.dictionary.push((item, users));
        codes(self.dictionary.len() - 1)
    }

    /// Add a user of `total` items.
    pub(crate) fn add_user(&mut self, total: usize, bound: usize, kept: &[PrunedItem]) {
        self.users += 1;
        push_integer(total as u64, &mut self.body);
        push_integer(kept.len() as u64, &mut self.body);
        let mut next = 0;
        for &PrunedItem { place, rank } in kept {
            push_integer(place as u64, &mut self.body);
            if total > bound {
                push_integer(rank - next, &mut self.body);
                next = rank + 1;
            }
        }
    }

    /// The packed value; `None` if no user was added.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        if self.users == 0 {
            return None;
        }
        let mut packed = Vec::with_capacity(8 + self.dictionary.len() * DICTIONARY_BYTES + self.body.len());
        packed.extend(codes(self.dictionary.len()).to_le_bytes());
        packed.extend(self.users.to_le_bytes());
        self.dictionary.iter().for_each(|(item, _)| push_digest(*item, &mut packed));
        self.dictionary.iter().for_each(|(_, users)| push_integer((*users).into(), &mut packed));
        packed.extend(self.body);
        Some(packed)
    }
}

/// The pruned users of some partitions.
#[derive(Debug)]
pub(crate) struct PrunedUsers<'a> {
    /// The items, each with the most users that it can have.
    pub(crate) dictionary: Vec<(Digest, u32)>,
    users: u32,
    body: &'a [u8],
}

impl<'a> PrunedUsers<'a> {
    /// Read the dictionary.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if it is damaged.
    pub(crate) fn unpack(packed: &'a [u8]) -> Result<Self> {
        let mut body = packed;
        let (items, users) = (take_u32(&mut body)?, take_u32(&mut body)?);
        let digests = (0..items).map(|_| take_digest(&mut body)).collect::<Result<Vec<_>>>()?;
        let with_users = digests.into_iter().map(|item| {
            let users = take_integer(&mut body)?;
            Ok((item, u32::try_from(users).map_err(|_| CORRUPT)?))
        });
        Ok(Self { dictionary: with_users.collect::<Result<_>>()?, users, body })
    }

    /// Hand out the number of items of each user, and its kept items.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if the value is damaged.
    pub(crate) fn each_user(&self, bound: u32, mut each: impl FnMut(u64, &[PrunedItem])) -> Result<()> {
        let (mut rest, mut items) = (self.body, Vec::new());
        for _ in 0..self.users {
            let (total, kept) = (take_integer(&mut rest)?, take_integer(&mut rest)?);
            items.clear();
            let mut next = 0_u64;
            for _ in 0..kept {
                let place = usize::try_from(take_integer(&mut rest)?).map_err(|_| CORRUPT)?;
                let between = if total > bound.into() { take_integer(&mut rest)? } else { 0 };
                let rank = next.checked_add(between).filter(|rank| *rank < total).ok_or(CORRUPT)?;
                if place >= self.dictionary.len() {
                    return Err(CORRUPT);
                }
                items.push(PrunedItem { place, rank });
                next = rank + 1;
            }
            each(total, &items);
        }
        if rest.is_empty() { Ok(()) } else { Err(CORRUPT) }
    }
}
