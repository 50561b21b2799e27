//! Contributions as bytes, without a dictionary: what a machine puts on its own disk, encrypted as a whole.
//!
//! Each item of each user is there itself, so nothing is looked up to write it or to read it. Numbers are not masked:
//! no such value leaves the process in the clear.
//!
//! Layout, all little-endian: the number of users (`u32`), with the highest bit set, which no other packed
//! contributions have; the number of rows (`u32`); then either 0 and the digest of the item of each row, or a tag and
//! the number of each; the digest of each user; the number of items of each (`u32`).

use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};
use zerocopy::{FromBytes, IntoBytes};

use super::dictionary::{DIGESTS, Dictionaries};
use dpsel_exact::random::bytes::{CORRUPT, take_u32};

type U32 = zerocopy::little_endian::U32;
type U64 = zerocopy::little_endian::U64;
type U128 = zerocopy::little_endian::U128;

/// The bit of the number of users that says that a value is of this kind.
const LISTED: u32 = 1 << 31;

/// Packs users with their items.
#[derive(Debug, Default)]
pub(crate) struct Lister {
    users: Vec<U128>,
    lens: Vec<U32>,
    items: Vec<Digest>,
}

impl Lister {
    pub(crate) fn add_user(&mut self, user: Digest, items: &[Digest]) {
        self.users.push(user.0.into());
        self.lens.push(codes(items.len()).into());
        // Copying a slice is a call, which takes longer than one item does.
        match items {
            [item] => self.items.push(*item),
            items => self.items.extend_from_slice(items),
        }
    }

    /// Write the users to a buffer, and start anew.
    ///
    /// # Errors
    /// [`Error::Capacity`] for too many users or rows.
    pub(crate) fn take(&mut self, dictionaries: &Dictionaries, packed: &mut Vec<u8>) -> Result<()> {
        let limit = LISTED.into();
        if self.users.len().max(self.items.len()) >= index(limit) {
            return Err(Error::Capacity { what: "rows of one packed value", limit });
        }
        packed.clear();
        packed.extend((codes(self.users.len()) | LISTED).to_le_bytes());
        packed.extend(codes(self.items.len()).to_le_bytes());
        if let Some((tag, numbers)) = dictionaries.numbers(&self.items) {
            packed.push(tag);
            let numbers: Vec<U64> = numbers.into_iter().map(U64::new).collect();
            packed.extend_from_slice(numbers.as_slice().as_bytes());
        } else {
            packed.push(DIGESTS);
            let items: Vec<U128> = self.items.iter().map(|item| item.0.into()).collect();
            packed.extend_from_slice(items.as_slice().as_bytes());
        }
        packed.extend_from_slice(self.users.as_slice().as_bytes());
        packed.extend_from_slice(self.lens.as_slice().as_bytes());
        self.users.clear();
        self.lens.clear();
        self.items.clear();
        Ok(())
    }
}

/// The users of a value. Their items stand one after the other.
#[derive(Debug)]
pub(crate) struct Listed<'a> {
    users: &'a [U128],
    lens: &'a [U32],
}

impl<'a> Listed<'a> {
    /// The users of a value, whose items are added to others; `None` if it is of the other kind.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged.
    pub(super) fn unpack(
        packed: &'a [u8],
        dictionaries: &Dictionaries,
        items: &mut Vec<Digest>,
    ) -> Result<Option<Self>> {
        let mut rest = packed;
        let users = take_u32(&mut rest)?;
        if users & LISTED == 0 {
            return Ok(None);
        }
        let [users, rows] = [users & !LISTED, take_u32(&mut rest)?].map(|number| index(number.into()));
        let (tag, rest) = rest.split_first().ok_or(CORRUPT)?;
        let rest = if *tag == DIGESTS {
            let (digests, rest) = <[U128]>::ref_from_prefix_with_elems(rest, rows).map_err(|_| CORRUPT)?;
            items.extend(digests.iter().map(|item| Digest(item.get())));
            rest
        } else {
            let (numbers, rest) = <[U64]>::ref_from_prefix_with_elems(rest, rows).map_err(|_| CORRUPT)?;
            dictionaries.digests(*tag, numbers.iter().map(|number| number.get()), items);
            rest
        };
        let (users, rest) = <[U128]>::ref_from_prefix_with_elems(rest, users).map_err(|_| CORRUPT)?;
        let lens = <[U32]>::ref_from_bytes_with_elems(rest, users.len()).map_err(|_| CORRUPT)?;
        let total: u64 = lens.iter().map(|len| u64::from(len.get())).sum();
        if total == rows as u64 { Ok(Some(Self { users, lens })) } else { Err(CORRUPT) }
    }

    /// Each user, with its number of items.
    pub(super) fn each(&self) -> impl Iterator<Item = (Digest, u32)> {
        self.users.iter().zip(self.lens).map(|(user, len)| (Digest(user.get()), len.get()))
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::random::{Digester, KeyKind, Purpose, ReleaseKey};

    use super::super::PackedUsers;
    use super::*;

    fn unpacked(packed: &[u8], dictionaries: &Dictionaries) -> Result<Vec<(Digest, Vec<Digest>)>> {
        let (mut items, mut found) = (vec![Digest(0)], Vec::new());
        PackedUsers::unpack(packed, dictionaries, &mut items)?.each(|user, places| {
            found.push((user, places.iter().map(|place| items[1 + *place as usize]).collect()));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn listed_users_survive_and_half_of_a_value_is_an_error() {
        let key = ReleaseKey::insecure_test([5; 32]);
        let (dictionaries, mut integers) = (Dictionaries::new(&key), Vec::new());
        let digester = Digester::new(&key, Purpose::ItemDigest);
        digester.integers(KeyKind::Integer, [3, -3, i64::MAX.into(), 3], &mut integers);
        for (items, bytes) in [(integers, 8), ([1, 2, 3, 1].map(Digest).to_vec(), 16)] {
            let (mut lister, mut packed) = (Lister::default(), Vec::new());
            let expected = vec![(Digest(8), items[..3].to_vec()), (Digest(u128::MAX), items[3..].to_vec())];
            for (user, items) in &expected {
                lister.add_user(*user, items);
            }
            lister.take(&dictionaries, &mut packed).unwrap();
            assert_eq!((lister.items.len(), packed.len()), (0, 9 + 4 * bytes + 2 * 20));
            assert_eq!(unpacked(&packed, &dictionaries).unwrap(), expected);
            for len in 0..packed.len() {
                assert!(unpacked(&packed[..len], &dictionaries).is_err());
            }
        }
    }
}
