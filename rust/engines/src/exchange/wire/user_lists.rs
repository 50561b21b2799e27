//! Contributions as bytes, without a dictionary: what a machine puts on its own disk, encrypted as a whole.
//!
//! Each item of each user is there itself, so nothing is looked up to write it or to read it. Numbers are not masked:
//! no such value leaves the process in the clear.
//!
//! Layout, all little-endian: the number of users (`u32`), with the highest bit set, which no other packed
//! contributions have; the number of rows (`u32`); the items; the digest of each user; the number of items of each (`u32`).
//! The items are either 0 and the digest of the item of each row, or a tag, the least number (8 bytes), the bytes of
//! a distance (4 or 8), and the distance of the number of each row from the least one. A disk takes longer to write
//! bytes than a processor to leave them out.

use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};
use zerocopy::{FromBytes, IntoBytes};

use super::bytes::{CORRUPT, take_u32};
use super::dictionary::{DIGESTS, Dictionaries};

type U32 = zerocopy::little_endian::U32;
type U64 = zerocopy::little_endian::U64;
type U128 = zerocopy::little_endian::U128;

/// The bit of the number of users that says that a value is of this kind.
const LISTED: u32 = 1 << 31;

/// Bytes of a distance between numbers.
const NARROW: u8 = 4;
const WIDE: u8 = 8;

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
            push_numbers(&numbers, packed);
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

/// Add numbers: the least, the bytes of a distance, and the distance of each from the least.
fn push_numbers(numbers: &[u64], packed: &mut Vec<u8>) {
    let least = numbers.iter().map(|number| number.cast_signed()).min().unwrap_or(0); // Otherwise: there is no number.
    let distances = numbers.iter().map(|number| number.wrapping_sub(least.cast_unsigned()));
    packed.extend(least.to_le_bytes());
    if let Some(narrow) =
        distances.clone().map(|distance| u32::try_from(distance).ok().map(U32::new)).collect()
    {
        let narrow: Vec<U32> = narrow;
        packed.push(NARROW);
        packed.extend_from_slice(narrow.as_slice().as_bytes());
    } else {
        let wide: Vec<U64> = distances.map(U64::new).collect();
        packed.push(WIDE);
        packed.extend_from_slice(wide.as_slice().as_bytes());
    }
}

/// The users of a value. Their items stand one after the other.
#[derive(Debug)]
pub(super) struct Listed<'a> {
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
            let ((least, width), rest) = <(U64, u8)>::read_from_prefix(rest).map_err(|_| CORRUPT)?;
            let number = |distance: u64| least.get().wrapping_add(distance);
            match width {
                NARROW => {
                    let (narrow, rest) =
                        <[U32]>::ref_from_prefix_with_elems(rest, rows).map_err(|_| CORRUPT)?;
                    let numbers = narrow.iter().map(|distance| number(distance.get().into()));
                    dictionaries.digests(*tag, numbers, items);
                    rest
                }
                WIDE => {
                    let (wide, rest) =
                        <[U64]>::ref_from_prefix_with_elems(rest, rows).map_err(|_| CORRUPT)?;
                    dictionaries.digests(*tag, wide.iter().map(|distance| number(distance.get())), items);
                    rest
                }
                _ => return Err(CORRUPT),
            }
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
        let (dictionaries, digester) = (Dictionaries::new(&key), Digester::new(&key, Purpose::ItemDigest));
        let integers = |values: [i128; 4]| {
            let mut integers = Vec::new();
            digester.integers(KeyKind::Integer, values, &mut integers);
            integers
        };
        let [least, most] = [i64::MIN, i64::MAX].map(i128::from);
        let narrow = [[3, -3, 7, 3], [most - 1, most, most - i128::from(u32::MAX), most], [least; 4]];
        let wide = [[3, -3, most, 3], [least, 0, 1, most], [0, 0, 1 << 32, 0]];
        let kinds = narrow.map(|values| (integers(values), 9 + 4 * 4)).into_iter();
        let kinds = kinds.chain(wide.map(|values| (integers(values), 9 + 4 * 8)));
        for (items, bytes) in kinds.chain([([1, 2, 3, 1].map(Digest).to_vec(), 4 * 16)]) {
            let (mut lister, mut packed) = (Lister::default(), Vec::new());
            let expected = vec![(Digest(8), items[..3].to_vec()), (Digest(u128::MAX), items[3..].to_vec())];
            for (user, items) in &expected {
                lister.add_user(*user, items);
            }
            lister.take(&dictionaries, &mut packed).unwrap();
            assert_eq!((lister.items.len(), packed.len()), (0, 9 + bytes + 2 * 20));
            assert_eq!(unpacked(&packed, &dictionaries).unwrap(), expected);
            for len in 0..packed.len() {
                assert!(unpacked(&packed[..len], &dictionaries).is_err());
            }
        }
    }
}
