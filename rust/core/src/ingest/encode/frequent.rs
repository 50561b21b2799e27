//! The codes of frequent keys, found without digesting them.
//!
//! In most tables a few keys make up much of the rows. They are among the first that are seen, so they have small codes,
//! and only keys of small codes are let in: the many rare ones that follow do not push them out. Integers are often
//! numbered from zero or one; small ones have a table of their own, indexed by the integer.

use crate::ingest::items::Code;
use crate::numeric::widths::index;
use crate::random::{Block, KeyKind};
use crate::runtime::memory::Array;

/// Places: two tables (one of users, one of items) leave room for a batch in the second-level cache.
const PLACES: usize = 1 << 12;
/// Codes from this number on are not let in.
const NUMBERS: u32 = 1 << 16;

/// A table from canonical blocks to codes that forgets: a key is kept in one place and lost when another takes it.
#[derive(Debug)]
pub(super) struct FrequentKeys<C> {
    blocks: Box<[Block; PLACES]>,
    codes: Box<[C; PLACES]>,
    /// Look-ups so far, and those that found their key.
    tried: usize,
    found: usize,
}

/// Look-ups after which the table must have found one key in [`WORTH`].
const TRIAL: usize = 1 << 17;
/// See [`TRIAL`]: below that, looking up and remembering cost more than they save.
const WORTH: usize = 16;

impl<C: Code> FrequentKeys<C> {
    /// An empty table.
    pub(super) fn new() -> Option<Self> {
        let blocks = vec![Block::NONE; PLACES].into_boxed_slice().try_into().ok()?;
        let codes = vec![C::default(); PLACES].into_boxed_slice().try_into().ok()?;
        Some(Self { blocks, codes, tried: 0, found: 0 })
    }

    /// Whether the table is worth its while: not if nearly all keys are rare, or frequent only among small integers.
    pub(super) fn pays(&self) -> bool {
        self.tried < TRIAL || self.found * WORTH >= self.tried
    }

    /// Say how many keys were looked up and how many were known.
    pub(super) fn count(&mut self, tried: usize, found: usize) {
        if self.pays() {
            self.tried += tried;
            self.found += found;
        }
    }

    /// Whether a key is known, and then its code.
    #[inline]
    pub(super) fn get(&self, block: Block) -> (bool, C) {
        let place = place(block);
        (self.blocks[place] == block, self.codes[place])
    }

    /// Remember the code of a key.
    #[inline]
    pub(super) fn put(&mut self, block: Block, code: C) {
        if code.number() < NUMBERS && block != Block::LONG {
            let place = place(block);
            (self.blocks[place], self.codes[place]) = (block, code);
        }
    }
}

/// Small integers are those below this number.
const SMALL: usize = 1 << 20;

/// A table from small non-negative integers to codes.
#[derive(Debug, Default)]
pub(super) struct SmallIntegers {
    /// What the integers mean; they are forgotten when it changes.
    kind: Option<KeyKind>,
    /// Rows so far.
    rows: usize,
    /// Number of the code plus one, 0 if unknown. The last place stands for all integers from there on and stays 0.
    numbers: Array<u32>,
}

impl SmallIntegers {
    /// Make ready for so many more integers of a kind. The table grows with the rows, so that few rows do not pay for
    /// a large one.
    pub(super) fn prepare(&mut self, kind: KeyKind, rows: usize) {
        if self.kind.replace(kind) != Some(kind) {
            self.numbers = Array::default();
        }
        self.rows = self.rows.saturating_add(rows);
        let known = self.numbers.as_slice();
        let size = self.rows.min(SMALL).next_power_of_two();
        if known.len() < size {
            let mut larger = Array::zeroed(size);
            larger.as_mut_slice()[..known.len()].copy_from_slice(known);
            self.numbers = larger;
        }
    }

    /// The numbers of the codes plus one, 0 where an integer is not known. This loop does nothing else and has no
    /// branch on the integers, so that its cache misses overlap.
    pub(super) fn get(&self, integers: &[u64], numbers: &mut [u32]) {
        let known = self.numbers.as_slice();
        let last = known.len().saturating_sub(1);
        for (number, integer) in numbers.iter_mut().zip(integers) {
            *number = known[index(*integer).min(last)];
        }
    }

    /// Remember the codes of some of `integers`.
    pub(super) fn put<C: Code>(&mut self, integers: &[u64], rows: &[u32], codes: &[C]) {
        let Some((_, numbers)) = self.numbers.as_mut_slice().split_last_mut() else { return };
        for (row, code) in rows.iter().zip(codes) {
            let integer = usize::try_from(integers[*row as usize]).ok();
            if let Some(number) = integer.and_then(|at| numbers.get_mut(at)) {
                *number = code.number().wrapping_add(1);
            }
        }
    }
}

/// The upper bits of the product depend on all bits of the key.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the shift leaves few bits")]
fn place(block: Block) -> usize {
    (block.folded().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::items::ItemCode;
    use crate::random::KeyKind;

    #[test]
    fn known_keys_have_their_own_code() {
        let mut frequent = FrequentKeys::<ItemCode>::new().unwrap();
        let block = |n: u32| Block::integer(KeyKind::Integer, i128::from(n) - 5000);
        let mut known = 0;
        for n in 0..2 * NUMBERS {
            assert!(!frequent.get(block(n)).0);
            frequent.put(block(n), ItemCode::new(n));
            known += u32::from(frequent.get(block(n)).0);
        }
        assert_eq!(known, NUMBERS);
        for n in 0..2 * NUMBERS {
            let (known, code) = frequent.get(block(n));
            assert!(!known || code == ItemCode::new(n));
        }
    }

    #[test]
    fn a_table_that_finds_little_is_given_up() {
        for (found, pays) in [(TRIAL / WORTH, true), (TRIAL / WORTH - 1, false)] {
            let mut frequent = FrequentKeys::<ItemCode>::new().unwrap();
            frequent.count(TRIAL - 1, found);
            assert!(frequent.pays());
            frequent.count(1, 0);
            assert_eq!(frequent.pays(), pays);
        }
    }

    #[test]
    fn small_integers_are_kept_apart_by_kind() {
        let integers = [0, 5, 126, 127, u64::MAX];
        let codes = [7, 8, 9, 10, 11].map(ItemCode::new);
        let mut small = SmallIntegers::default();
        let mut numbers = [1; 5];
        small.prepare(KeyKind::Integer, 100);
        small.get(&integers, &mut numbers);
        assert_eq!(numbers, [0; 5]);
        small.put(&integers, &[0, 1, 2, 3, 4], &codes);
        small.prepare(KeyKind::Integer, 1 << 30);
        small.get(&integers, &mut numbers);
        assert_eq!(numbers, [8, 9, 10, 0, 0]);
        small.prepare(KeyKind::Date, 100);
        small.get(&integers, &mut numbers);
        assert_eq!(numbers, [0; 5]);
    }

    #[test]
    fn long_keys_are_never_known() {
        let mut frequent = FrequentKeys::<ItemCode>::new().unwrap();
        frequent.put(Block::LONG, ItemCode::new(1));
        assert!(!frequent.get(Block::LONG).0);
    }
}
