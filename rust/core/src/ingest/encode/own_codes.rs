//! Small integers that are their own codes.
//!
//! Tables often number users and items from zero or one. Then a number needs no table: it is its code. What remains is
//! to note which integers occur.

use crate::ingest::items::Code;
use crate::numeric::widths::index;

const WORD: usize = u64::BITS as usize;

/// The integers below a bound, and which of them occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnCodes {
    below: u32,
    /// A bit for each integer, and one more that stands for all larger integers.
    occurred: Vec<u64>,
}

impl OwnCodes {
    /// The integers below `below`. None has occurred.
    pub(crate) fn new(below: u32) -> Self {
        Self { below, occurred: vec![0; below as usize / WORD + 1] }
    }

    /// All are below this.
    pub(crate) fn below(&self) -> u32 {
        self.below
    }

    /// Write the codes of small integers, and the rows of the other integers to `rows`. Returns the number of these.
    ///
    /// Small and large integers alternate at random, which a branch could not predict. So the loop has none.
    #[expect(clippy::cast_possible_truncation, reason = "codes of larger integers are replaced later")]
    pub(crate) fn code<C: Code>(&mut self, integers: &[u64], codes: &mut [C], rows: &mut [u32]) -> usize {
        let mut left = 0;
        for ((row, integer), code) in (0_u32..).zip(integers).zip(codes) {
            *code = C::new(*integer as u32);
            let at = index((*integer).min(self.below.into()));
            self.occurred[at / WORD] |= 1 << (at % WORD);
            rows[left] = row;
            left += usize::from(*integer >= u64::from(self.below));
        }
        left
    }

    /// Add what occurred elsewhere, below the same bound.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (word, others) in self.occurred.iter_mut().zip(&other.occurred) {
            *word |= others;
        }
    }

    /// The integers that occurred, in ascending order.
    pub(crate) fn occurred(&self) -> impl Iterator<Item = u32> + '_ {
        let is_set = |at: &u32| self.occurred[*at as usize / WORD] >> (*at as usize % WORD) & 1 == 1;
        (0..self.below).filter(is_set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::items::ItemCode;

    #[test]
    fn small_integers_are_their_own_codes_and_are_noted_once_they_occur() {
        for below in [1, 64, 100] {
            let (mut own, mut other) = (OwnCodes::new(below), OwnCodes::new(below));
            let integers = [0, 1 << 32, u64::from(below) - 1, below.into(), 0, u64::MAX];
            let (mut codes, mut rows) = ([ItemCode::default(); 6], [0; 6]);
            assert_eq!(own.code(&integers, &mut codes, &mut rows), 3);
            assert_eq!(rows[..3], [1, 3, 5]);
            assert_eq!([codes[0], codes[2], codes[4]], [0, below - 1, 0].map(ItemCode::new));
            let mut occurred = vec![0, below - 1];
            occurred.dedup();
            assert!(own.occurred().eq(occurred.iter().copied()));
            other.code(&[u64::from(below / 2)], &mut codes, &mut rows);
            own.merge(&other);
            occurred.push(below / 2);
            occurred.sort_unstable();
            occurred.dedup();
            assert!(own.occurred().eq(occurred));
        }
    }
}
