//! Small integers that are their own codes.
//!
//! Tables often number users and items from zero or one. Then a number needs no table: it is its code. What remains is
//! to note which items occur. Users with an item are known by their rows, so only users of rows without an item are noted.

use crate::ingest::items::{Code, Side};
use crate::numeric::widths::index;

const WORD: usize = u64::BITS as usize;
/// Integers coded together: they stay in the first-level cache.
const BLOCK: usize = 1024;

/// The integers below a bound, and which of them were noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnCodes {
    below: u32,
    /// A bit for each integer, and one more that stands for all larger integers.
    noted: Vec<u64>,
}

impl OwnCodes {
    /// The integers below `below`. None is noted.
    pub(crate) fn new(below: u32) -> Self {
        Self { below, noted: vec![0; below as usize / WORD + 1] }
    }

    /// All are below this.
    pub(crate) fn below(&self) -> u32 {
        self.below
    }

    /// Write the codes of small integers, and note those that are items. The rows of the other integers go to `rows`.
    /// Returns how many they are.
    #[expect(clippy::cast_possible_truncation, reason = "codes of larger integers are replaced later")]
    pub(crate) fn code<C: Code>(&mut self, integers: &[u64], codes: &mut [C], rows: &mut [u32]) -> usize {
        let blocks = integers.chunks(BLOCK).zip(codes.chunks_mut(BLOCK));
        let mut left = 0;
        for (first, (integers, codes)) in (0..).step_by(BLOCK).zip(blocks) {
            for (integer, code) in integers.iter().zip(codes) {
                *code = C::new(*integer as u32);
            }
            // Users are often all small, which takes one look at all their bits.
            if integers.iter().fold(0, |all, integer| all | integer) >= u64::from(self.below) {
                left += self.others(integers, first, &mut rows[left..]);
            }
            if C::SIDE == Side::Item {
                for integer in integers {
                    self.note(*integer);
                }
            }
        }
        left
    }

    /// Write the rows of the larger integers of a block, whose rows start at `first`. Returns their number.
    ///
    /// Small and large integers alternate at random, which a branch could not predict. So the loop has none.
    fn others(&self, integers: &[u64], first: u32, rows: &mut [u32]) -> usize {
        let mut left = 0;
        for (row, integer) in (first..).zip(integers) {
            rows[left] = row;
            left += usize::from(*integer >= u64::from(self.below));
        }
        left
    }

    /// Note an integer. All that are not below the bound share one bit, which nobody reads.
    ///
    /// Nearly all were noted before, so their bits are read but not written: a write would delay the next read of the same
    /// word, and the words of frequent integers are few.
    #[inline]
    pub(crate) fn note(&mut self, integer: u64) {
        let at = index(integer.min(self.below.into()));
        let (word, bit) = (&mut self.noted[at / WORD], 1 << (at % WORD));
        if *word & bit == 0 {
            *word |= bit;
        }
    }

    /// Whether an integer below the bound is noted.
    pub(crate) fn has(&self, integer: u32) -> bool {
        self.noted[integer as usize / WORD] >> (integer as usize % WORD) & 1 == 1
    }

    /// Add what was noted elsewhere, below the same bound.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (word, others) in self.noted.iter_mut().zip(&other.noted) {
            *word |= others;
        }
    }

    /// The integers that are noted, of `first` and every `step`-th one after it, in ascending order.
    pub(crate) fn noted(&self, first: u32, step: usize) -> impl Iterator<Item = u32> + '_ {
        (first..self.below).step_by(step).filter(|integer| self.has(*integer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::items::ItemCode;

    #[test]
    fn small_integers_are_their_own_codes_and_items_are_noted_once_they_occur() {
        for below in [1, 64, 100] {
            let (mut own, mut other) = (OwnCodes::new(below), OwnCodes::new(below));
            let integers = [0, 1 << 32, u64::from(below) - 1, below.into(), 0, u64::MAX];
            let (mut codes, mut rows) = ([ItemCode::default(); 6], [0; 6]);
            assert_eq!(own.code(&integers, &mut codes, &mut rows), 3);
            assert_eq!(rows[..3], [1, 3, 5]);
            assert_eq!([codes[0], codes[2], codes[4]], [0, below - 1, 0].map(ItemCode::new));
            let mut occurred = vec![0, below - 1];
            occurred.dedup();
            assert!(own.noted(0, 1).eq(occurred.iter().copied()));
            other.code(&[u64::from(below / 2)], &mut codes, &mut rows);
            own.merge(&other);
            occurred.push(below / 2);
            occurred.sort_unstable();
            occurred.dedup();
            assert!(own.noted(0, 1).eq(occurred));
        }
    }
}
