//! A Bloom filter (B. H. Bloom, Communications of the ACM 13(7), 1970): every inserted item passes, and few others do.
//!
//! Digests are pseudorandom under the release key, so they are their own hashes. No table can be made on which the
//! filter errs more often.

use std::num::NonZeroU32;

use super::Digest;
use crate::numeric::widths::index;

/// A Bloom filter of digests.
#[derive(Debug, Clone)]
pub struct Bloom {
    /// The number of bits that an item sets.
    pub probes: u8,
    /// The bits, eight in a byte.
    pub bits: Box<[u8]>,
}

impl Bloom {
    /// An empty filter with this number of bits for each item.
    ///
    /// With ln 2 probes for each bit, half of all bits are set and the fewest other items pass: about one in 15 000 for
    /// 20 bits.
    #[must_use]
    pub fn new(items: usize, bits: NonZeroU32) -> Self {
        let probes = (bits.get().saturating_mul(69) / 100).clamp(1, 50).to_le_bytes()[0];
        let all = (items as u64).saturating_mul(bits.get().into());
        let bytes = index(all / 8 + 1);
        Self { probes, bits: vec![0; bytes].into() }
    }

    /// The byte and the bit of each probe. The two halves of a digest give all of them (A. Kirsch and M. Mitzenmacher,
    /// "Less hashing, same performance", ESA 2006).
    #[expect(
        clippy::cast_possible_truncation,
        reason = "halves are meant; a place is below the number of bits"
    )]
    fn places(&self, item: Digest) -> impl Iterator<Item = (usize, u8)> + use<> {
        let (first, step) = (item.0 as u64, (item.0 >> 64) as u64 | 1);
        let bits = self.bits.len() as u128 * 8;
        (0..u64::from(self.probes)).map(move |probe| {
            let hash = first.wrapping_add(probe.wrapping_mul(step));
            let place = (u128::from(hash) * bits) >> 64;
            ((place / 8) as usize, 1 << (place % 8))
        })
    }

    /// Insert an item.
    pub fn insert(&mut self, item: Digest) {
        self.places(item).for_each(|(byte, bit)| self.bits[byte] |= bit);
    }

    /// Whether the item passes: true for every inserted item.
    #[must_use]
    pub fn passes(&self, item: Digest) -> bool {
        self.places(item).all(|(byte, bit)| self.bits[byte] & bit != 0)
    }
}
