//! Codes of frequent keys, found without a digest.
//!
//! In most tables a few keys make up much of the rows. Frequent keys appear early, so their codes are small. The table
//! admits only keys with small codes, so that the many rare keys do not displace the frequent ones. Integers are often
//! numbered from zero or one. Small integers have a table of their own, indexed by the integer.

use dpsel_exact::numeric::widths::index;
use dpsel_exact::random::{Block, KeyKind};

use crate::ingest::items::Code;
use crate::runtime::memory::Array;

/// Number of places. Two tables, for users and for items, leave room for a batch in the second-level cache.
const PLACES: usize = 1 << 12;
/// Codes from this number on are not admitted, counted from the first code of an interned key.
const NUMBERS: u32 = 1 << 16;

/// A cache of codes by canonical block. Each key has one place, and a later key with the same place replaces it.
#[derive(Debug)]
pub(super) struct FrequentKeys<C> {
    blocks: Box<[Block; PLACES]>,
    codes: Box<[C; PLACES]>,
    /// Look-ups so far, and look-ups that found their key.
    lookups: usize,
    hits: usize,
}

/// After this number of look-ups, one in [`WORTH`] must have been a hit.
const TRIAL: usize = 1 << 17;
/// Look-ups for each hit, at most. With fewer hits the table costs more than it saves.
const WORTH: usize = 16;

impl<C: Code> FrequentKeys<C> {
    /// An empty table.
    pub(super) fn new() -> Option<Self> {
        let blocks = vec![Block::NONE; PLACES].into_boxed_slice().try_into().ok()?;
        let codes = vec![C::default(); PLACES].into_boxed_slice().try_into().ok()?;
        Some(Self { blocks, codes, lookups: 0, hits: 0 })
    }

    /// Whether the table saves time. It does not if nearly all keys are rare, or frequent only among small integers.
    pub(super) fn pays(&self) -> bool {
        self.lookups < TRIAL || self.hits * WORTH >= self.lookups
    }

    /// Count look-ups and hits.
    pub(super) fn count(&mut self, lookups: usize, hits: usize) {
        if self.pays() {
            self.lookups += lookups;
            self.hits += hits;
        }
    }

    /// Whether the table holds a key, and its code if so.
    #[inline]
    pub(super) fn get(&self, block: Block) -> (bool, C) {
        let place = place(block);
        (self.blocks[place] == block, self.codes[place])
    }

    /// Store the code of a key. `first` is the smallest code of interned keys.
    #[inline]
    pub(super) fn put(&mut self, block: Block, code: C, first: u32) {
        if code.number().wrapping_sub(first) < NUMBERS && block != Block::LONG {
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
    /// The kind of the integers. Another kind empties the table.
    kind: Option<KeyKind>,
    /// Number of rows so far.
    rows: usize,
    /// Number of the code plus one; 0 if unknown. The last place stands for all larger integers and stays 0.
    numbers: Array<u32>,
}

impl SmallIntegers {
    /// Prepare for `rows` more integers of a kind. The table grows with the rows, so a short input has a small table.
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

    /// The numbers of the codes plus one; 0 for an unknown integer. The loop does nothing else and has no branch on the
    /// integers, so its cache misses overlap.
    pub(super) fn get(&self, integers: &[u64], numbers: &mut [u32]) {
        let known = self.numbers.as_slice();
        let last = known.len().saturating_sub(1);
        for (number, integer) in numbers.iter_mut().zip(integers) {
            *number = known[index(*integer).min(last)];
        }
    }

    /// Store the codes of some of `integers`.
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
    use dpsel_exact::random::KeyKind;

    use super::*;
    use crate::ingest::items::ItemCode;

    #[test]
    fn known_keys_have_their_own_code() {
        let mut frequent = FrequentKeys::<ItemCode>::new().unwrap();
        let block = |n: u32| Block::integer(KeyKind::Integer, i128::from(n) - 5000);
        let mut known = 0;
        for n in 0..2 * NUMBERS {
            assert!(!frequent.get(block(n)).0);
            frequent.put(block(n), ItemCode::new(5 + n), 5);
            known += u32::from(frequent.get(block(n)).0);
        }
        assert_eq!(known, NUMBERS);
        for n in 0..2 * NUMBERS {
            let (known, code) = frequent.get(block(n));
            assert!(!known || code == ItemCode::new(5 + n));
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
        frequent.put(Block::LONG, ItemCode::new(1), 0);
        assert!(!frequent.get(Block::LONG).0);
    }
}
