//! The codes of frequent keys, found without digesting them.
//!
//! In most tables a few keys make up much of the rows. They are among the first that are seen, so they have small codes,
//! and only keys of small codes are let in: the many rare ones that follow do not push them out.

use crate::contributions::Code;
use crate::random::Block;

/// Places: two tables (one of users, one of items) leave room for a batch in the second-level cache.
const PLACES: usize = 1 << 12;
/// Codes from this number on are not let in.
const NUMBERS: u32 = 1 << 16;

/// A table from canonical blocks to codes that forgets: a key is kept in one place and lost when another takes it.
#[derive(Debug)]
pub(super) struct FrequentKeys<C> {
    blocks: Box<[Block; PLACES]>,
    codes: Box<[C; PLACES]>,
}

impl<C: Code> FrequentKeys<C> {
    /// An empty table.
    pub(super) fn new() -> Option<Self> {
        let blocks = vec![Block::NONE; PLACES].into_boxed_slice().try_into().ok()?;
        let codes = vec![C::default(); PLACES].into_boxed_slice().try_into().ok()?;
        Some(Self { blocks, codes })
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

/// The upper bits of the product depend on all bits of the key.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the shift leaves few bits")]
fn place(block: Block) -> usize {
    (block.folded().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contributions::ItemCode;
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
    fn long_keys_are_never_known() {
        let mut frequent = FrequentKeys::<ItemCode>::new().unwrap();
        frequent.put(Block::LONG, ItemCode::new(1));
        assert!(!frequent.get(Block::LONG).0);
    }
}
