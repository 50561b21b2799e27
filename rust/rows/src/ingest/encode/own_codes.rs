//! Small integers that are their own codes.
//!
//! Tables often number users and items from zero or one. Then a number needs no table: it is its code.

use crate::ingest::items::Code;

/// Integers coded together: they stay in the first-level cache.
const BLOCK: usize = 1024;

/// The integers below a bound are their own codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCodes {
    below: u32,
}

impl OwnCodes {
    /// The integers below `below`.
    #[must_use]
    pub(crate) fn new(below: u32) -> Self {
        Self { below }
    }

    /// All are below this.
    #[must_use]
    pub(crate) fn below(self) -> u32 {
        self.below
    }

    /// Append a code for each integer. Those of larger integers mean nothing, and the caller replaces them. Their rows go to
    /// `rows`, which is at least as long as `integers`. Returns how many they are.
    #[expect(clippy::cast_possible_truncation, reason = "codes of larger integers are replaced later")]
    #[inline]
    pub(crate) fn code<C: Code>(self, integers: &[u64], codes: &mut Vec<C>, rows: &mut [u32]) -> usize {
        let (mut left, mut larger) = (0, [0; BLOCK]);
        for (first, integers) in (0..).step_by(BLOCK).zip(integers.chunks(BLOCK)) {
            codes.extend(integers.iter().map(|integer| C::new(*integer as u32)));
            // Users are often all small, which takes one look at all their bits.
            if integers.iter().fold(0, |all, integer| all | integer) >= u64::from(self.below) {
                let others = self.others(integers, first, &mut larger);
                rows[left..][..others].copy_from_slice(&larger[..others]);
                left += others;
            }
        }
        left
    }

    /// Write the rows of the larger integers of a block, whose rows start at `first`. Returns their number.
    ///
    /// Small and large integers alternate at random, which a branch could not predict. So the loop has none, not even one
    /// for the length of `rows`.
    fn others(self, integers: &[u64], first: u32, rows: &mut [u32; BLOCK]) -> usize {
        let mut left = 0;
        for (row, integer) in (first..).zip(integers) {
            rows[left % BLOCK] = row;
            left += usize::from(*integer >= u64::from(self.below));
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::items::ItemCode;

    #[test]
    fn small_integers_are_their_own_codes() {
        for below in [1, 64, 100] {
            let own = OwnCodes::new(below);
            let integers = [0, 1 << 32, u64::from(below) - 1, below.into(), 0, u64::MAX];
            let (mut codes, mut rows) = (Vec::<ItemCode>::new(), [0; 6]);
            assert_eq!(own.code(&integers, &mut codes, &mut rows), 3);
            assert_eq!(rows[..3], [1, 3, 5]);
            assert_eq!([codes[0], codes[2], codes[4]], [0, below - 1, 0].map(ItemCode::new));
            assert_eq!(codes.len(), 6);
        }
    }
}
