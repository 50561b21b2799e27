//! The released items, for tasks that meet all items of the table.
//!
//! Few of them are a list. Many are a Bloom filter (B. H. Bloom, Communications of the ACM 13(7), 1970): some bits for
//! each, which all of them pass, and a few other items as well. [`Sift`](super::Sift) finds the items of the table that
//! pass, [`Mistaken`](super::Mistaken) those of them that were not released. Written behind the filter, these make it
//! exact: for every item of this table it says what the list says.
//!
//! Digests are pseudorandom under the release key. So they are their own hashes, and no table makes the filter err more
//! often.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::num::NonZeroU32;

use super::decide::{Decisions, DigestHasher};
use super::packing::take_digest;
use crate::numeric::widths::index;
use crate::random::Digest;
use crate::{Error, Result};

const DAMAGED: Error = Error::Internal("what is known of released items is damaged");
/// First byte of a packed list; decisions follow.
const LIST: u8 = 0;
/// First byte of a packed filter; its number of probes, its bytes and the mistaken digests follow.
const FILTER: u8 = 1;
type Items = HashSet<Digest, BuildHasherDefault<DigestHasher>>;

/// Vocabularies have gaps with this digest, so a filter is asked for it too.
const NO_ITEM: Digest = Digest(0);

/// See the module.
#[derive(Debug, Clone)]
pub enum Known {
    /// The items themselves.
    Listed(Decisions),
    /// What they pass.
    Filtered(Filter),
}

impl Default for Known {
    fn default() -> Self {
        Self::Listed(Decisions::default())
    }
}

impl Known {
    /// Pack the items of packed decisions: as a list, or as a filter of so many bits for each. To a filter the mistaken
    /// items are to be appended. No items are no bytes.
    ///
    /// # Errors
    /// [`Error::Internal`] for damaged decisions.
    pub fn pack(items: &[u8], bits: Option<NonZeroU32>) -> Result<Vec<u8>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let Some(bits) = bits else {
            return Ok([&[LIST], items].concat());
        };
        let items = Decisions::each(items)?;
        let mut filter = Filter::new(items.len(), bits);
        items.for_each(|(item, _)| filter.insert(item));
        let bytes = (filter.bits.len() as u64).to_le_bytes();
        Ok([&[FILTER, filter.probes], bytes.as_slice(), &filter.bits].concat())
    }

    /// Read what [`Known::pack`] made; nothing is known of no bytes.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged.
    pub fn unpack(packed: &[u8]) -> Result<Self> {
        match packed {
            [] => Ok(Self::default()),
            [LIST, items @ ..] => Decisions::unpack(items).map(Self::Listed),
            [FILTER, probes, rest @ ..] => {
                let (bytes, rest) = rest.split_first_chunk().ok_or(DAMAGED)?;
                let bytes = usize::try_from(u64::from_le_bytes(*bytes)).map_err(|_| DAMAGED)?;
                let (bits, mut rest) = rest.split_at_checked(bytes).ok_or(DAMAGED)?;
                let mut mistaken = Items::from_iter([NO_ITEM]);
                while !rest.is_empty() {
                    mistaken.insert(take_digest(&mut rest)?);
                }
                let filter = Filter { probes: *probes, bits: bits.into(), mistaken };
                if bytes == 0 { Err(DAMAGED) } else { Ok(Self::Filtered(filter)) }
            }
            _ => Err(DAMAGED),
        }
    }

    pub(super) fn contains(&self, item: Digest) -> bool {
        match self {
            Self::Listed(items) => items.contains(item),
            Self::Filtered(filter) => filter.passes(item) && !filter.mistaken.contains(&item),
        }
    }

    /// Whether it has an item that was not asked for before. A filter cannot tell: it says so again.
    pub(super) fn take(&mut self, item: Digest) -> bool {
        match self {
            Self::Listed(items) => items.take(item).is_some(),
            Self::Filtered(_) => self.contains(item),
        }
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Listed(items) if items.is_empty())
    }
}

/// A Bloom filter, and the items of the table that it mistakes.
#[derive(Debug, Clone)]
pub struct Filter {
    /// How many bits an item sets.
    probes: u8,
    bits: Box<[u8]>,
    mistaken: Items,
}

impl Filter {
    /// With ln 2 probes for each bit of an item half of the bits are set, and the fewest others pass: with 20 bits about
    /// one in 15 000.
    fn new(items: usize, bits: NonZeroU32) -> Self {
        let probes = (bits.get().saturating_mul(69) / 100).clamp(1, 50).to_le_bytes()[0];
        let all = (items as u64).saturating_mul(bits.get().into());
        let bytes = index(all / 8 + 1);
        Self { probes, bits: vec![0; bytes].into(), mistaken: Items::default() }
    }

    /// The byte and the bit of each probe: two halves of a digest give all (A. Kirsch and M. Mitzenmacher, "Less hashing,
    /// same performance", ESA 2006).
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

    fn insert(&mut self, item: Digest) {
        self.places(item).for_each(|(byte, bit)| self.bits[byte] |= bit);
    }

    fn passes(&self, item: Digest) -> bool {
        self.places(item).all(|(byte, bit)| self.bits[byte] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{Purpose, ReleaseKey, Words};

    fn digests(numbers: std::ops::Range<u128>) -> Vec<Digest> {
        let words = Words::new(&ReleaseKey::insecure_test([1; 32]), Purpose::Noise, 0);
        numbers.map(|number| Digest(words.word(Digest(number)))).collect()
    }

    fn decisions(items: &[Digest]) -> Vec<u8> {
        Decisions::pack(items.iter().map(|item| (*item, 0)))
    }

    #[test]
    fn few_other_items_pass_a_filter_and_with_these_behind_it_none_do() {
        let (released, others) = (digests(0..20_000), digests(20_000..120_000));
        for (bits, at_most) in [(1, 0.64), (2, 0.40), (8, 0.022), (20, 0.000_1)] {
            let mut packed = Known::pack(&decisions(&released), NonZeroU32::new(bits)).unwrap();
            assert_eq!(packed.len(), 10 + 20_000 * bits as usize / 8 + 1);
            let filter = Known::unpack(&packed).unwrap();
            assert!(released.iter().all(|item| filter.contains(*item)));
            let passed: Vec<Digest> = others.iter().copied().filter(|item| filter.contains(*item)).collect();
            let share = passed.len() as f64 / others.len() as f64;
            assert!(
                (0.8 * at_most..at_most).contains(&share) || bits == 20 && share < at_most,
                "{bits}: {share}"
            );
            packed.extend(passed.iter().flat_map(|item| item.0.to_le_bytes()));
            let exact = Known::unpack(&packed).unwrap();
            assert!(released.iter().all(|item| exact.contains(*item)));
            assert!(!others.iter().any(|item| exact.contains(*item)));
        }
    }

    #[test]
    fn a_list_gives_each_item_once() {
        let items = digests(0..3);
        let mut known = Known::unpack(&Known::pack(&decisions(&items[..2]), None).unwrap()).unwrap();
        assert_eq!(
            [items[0], items[0], items[2], items[1]].map(|item| known.take(item)),
            [true, false, false, true]
        );
        assert!(known.is_empty() && Known::unpack(&[]).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn damaged_values_are_refused(packed in prop::collection::vec(any::<u8>(), 0..200), tag in 0_u8..3) {
            for packed in [packed.clone(), [[tag].as_slice(), &packed].concat()] {
                if let Ok(known) = Known::unpack(&packed) {
                    known.contains(Digest(1));
                }
            }
        }
    }

    #[test]
    fn filters_without_bits_are_refused() {
        let nothing = [&[FILTER, 3][..], &[0; 8]].concat();
        assert!(Known::unpack(&nothing).is_err() && Known::unpack(&[2]).is_err());
        assert!(Known::pack(&[0; 25], NonZeroU32::new(8)).is_err());
    }
}
