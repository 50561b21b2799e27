//! Single rows, divided into parts by user: each is a user's place and an item, in as few bytes as both need.

use zerocopy::IntoBytes;

use super::parts::{BANDS, PARTS, PARTS_OF_BAND, Starts, in_band, place, starts};
use crate::runtime::memory::Array;

/// Rows are read and written as words of so many bytes, which overlap.
const WORD: usize = size_of::<u64>();
/// Free bytes behind each part, so that writing its last row does not change the next part.
const SPARE: usize = WORD - 1;

/// A user (or its place) and an item in one word, so that a row is moved as one value.
#[inline]
pub(super) fn pack(user: u32, item: u32) -> u64 {
    u64::from(user) << 32 | u64::from(item)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "each half is a code of 32 bits")]
fn unpack(row: u64) -> (u32, u32) {
    ((row >> 32) as u32, row as u32)
}

/// The largest integers that may be their own codes. Rows always have room for them, so the width of rows does not tell
/// which of them occur.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LargestCodes {
    pub(super) user: u32,
    pub(super) item: u32,
}

/// How rows are written: the item in the low bits, the place above it, and the bytes that both need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    item_bits: u32,
    width: usize,
}

impl Form {
    /// `places` and `items` are all places and all items, joined by OR.
    fn new(places: u32, items: u32) -> Self {
        let bits = |codes: u32| u32::BITS - codes.leading_zeros();
        let item_bits = bits(items);
        Self { item_bits, width: (bits(places) + item_bits).div_ceil(u8::BITS).max(1) as usize }
    }

    #[inline]
    fn word(self, place: u32, item: u32) -> u64 {
        u64::from(place) << self.item_bits | u64::from(item)
    }

    /// The place and the item of a row, whose word ends with bytes of the next one.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "each is a code of 32 bits")]
    fn row(self, word: u64) -> (u32, u32) {
        let row = word & u64::MAX >> ((WORD - self.width) * 8);
        ((row >> self.item_bits) as u32, (row & ((1 << self.item_bits) - 1)) as u32)
    }
}

/// Single rows of a band: the user's place and the item.
#[derive(Debug)]
pub(super) struct SingleRows {
    starts: Starts,
    form: Form,
    words: Array<u32>,
}

impl SingleRows {
    /// Divide packed rows among the bands and their parts.
    pub(super) fn divide(open: &[u64], largest: LargestCodes) -> [Self; BANDS] {
        let (mut counts, mut codes) = (Box::new([0; PARTS]), pack(largest.user, largest.item));
        for row in open {
            counts[place(unpack(*row).0).0] += 1;
            codes |= row;
        }
        let (users, items) = unpack(codes);
        let form = Form::new(place(users).1, items);
        let mut bands = starts(&counts).map(|starts| Self::of_band(starts, form));
        Self::scatter(open, form, &mut bands);
        bands
    }

    /// Write packed rows to their parts.
    fn scatter(open: &[u64], form: Form, bands: &mut [Self; BANDS]) {
        let mut at = Box::new([0; PARTS]);
        for (part, at) in at.iter_mut().enumerate() {
            let (band, number) = in_band(part);
            *at = bands[band].first_byte(number);
        }
        let bytes = bands.each_mut().map(|band| band.words.as_mut_slice().as_mut_bytes());
        for row in open {
            let (user, item) = unpack(*row);
            let (part, place) = place(user);
            let to = at[part];
            bytes[in_band(part).0][to..to + WORD].copy_from_slice(&form.word(place, item).to_le_bytes());
            at[part] = to + form.width;
        }
    }

    /// Room for the rows of a band.
    fn of_band(starts: Starts, form: Form) -> Self {
        let mut rows = Self { starts, form, words: Array::default() };
        if rows.all() > 0 {
            rows.words = Array::apart(rows.bytes().div_ceil(size_of::<u32>()));
        }
        rows
    }

    /// Number of rows.
    fn all(&self) -> usize {
        self.starts[PARTS_OF_BAND]
    }

    fn first_byte(&self, part: usize) -> usize {
        self.starts[part] * self.form.width + part * SPARE
    }

    /// Bytes held, as they are counted: all bands together have as many, whichever users have the rows.
    pub(super) fn bytes(&self) -> usize {
        self.all() * self.form.width + PARTS_OF_BAND * SPARE
    }

    /// Number of rows of a part.
    pub(super) fn rows_of(&self, part: usize) -> usize {
        self.starts[part + 1] - self.starts[part]
    }

    /// The user's place and the item of each row of a part of the band.
    #[inline]
    pub(super) fn part(&self, part: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (form, first) = (self.form, self.first_byte(part));
        let mut rest: &[u8] = match self.rows_of(part) {
            0 => &[],
            rows => &self.words.as_slice().as_bytes()[first..first + rows * form.width + SPARE],
        };
        // After the last row, fewer bytes than a word are left.
        std::iter::from_fn(move || {
            let word = rest.first_chunk()?;
            rest = &rest[form.width..];
            Some(form.row(u64::from_le_bytes(*word)))
        })
    }

    /// The memory of the rows, once they are not needed any more.
    pub(super) fn into_memory(self) -> Array<u32> {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Users or items of some width, and the largest of those that are their own codes.
    fn codes() -> impl Strategy<Value = (Vec<u32>, u32)> {
        (0_u32..32).prop_flat_map(|shift| {
            let code = any::<u32>().prop_map(move |code| code >> shift);
            (prop::collection::vec(code.clone(), 300), code)
        })
    }

    proptest! {
        #[test]
        fn every_part_has_its_rows_in_order(
            ((users, user), (items, item), count) in (codes(), codes(), 0_usize..300),
        ) {
            let rows: Vec<(u32, u32)> = users.into_iter().zip(items).take(count).collect();
            let open: Vec<u64> = rows.iter().map(|(user, item)| pack(*user, *item)).collect();
            let divided = SingleRows::divide(&open, LargestCodes { user, item });
            for part in 0..PARTS {
                let (band, number) = in_band(part);
                let band = &divided[band];
                let expected: Vec<(u32, u32)> = rows
                    .iter()
                    .filter(|(user, _)| place(*user).0 == part)
                    .map(|(user, item)| (place(*user).1, *item))
                    .collect();
                prop_assert_eq!(band.rows_of(number), expected.len());
                prop_assert!(band.part(number).eq(expected));
            }
        }
    }

    #[test]
    fn rows_take_as_few_bytes_as_they_need_and_do_not_tell_which_small_codes_occur() {
        let taken = |rows: &[(u32, u32)], largest| {
            let open: Vec<u64> = rows.iter().map(|(user, item)| pack(*user, *item)).collect();
            let bytes: usize = SingleRows::divide(&open, largest).iter().map(SingleRows::bytes).sum();
            (bytes - PARTS * SPARE) / rows.len()
        };
        assert_eq!(taken(&[(0, 0), (8191, 7)], LargestCodes::default()), 1);
        // 500,000 users have 11 bits in a part, and five million items 23.
        assert_eq!(taken(&[(500_000, 5_000_000); 3], LargestCodes::default()), 5);
        assert_eq!(taken(&[(u32::MAX, u32::MAX)], LargestCodes::default()), 7);
        let largest = LargestCodes { user: (1 << 20) - 1, item: (1 << 20) - 1 };
        assert_eq!(taken(&[(0, 0)], largest), taken(&[(1 << 19, 1 << 19)], largest));
    }
}
