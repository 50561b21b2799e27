//! A released set: which items were released, for tasks that meet all items of the table.
//!
//! A small set is a list. A large one is a [Bloom filter](super::bloom), which its items pass and a few other items,
//! the false positives, pass as well. [`FilterCandidates`](crate::exchange::FilterCandidates) finds the items of the
//! table that pass, [`FalsePositives`](crate::exchange::FalsePositives) those among them that were not released.
//! Appended to the filter, the false positives make it exact: for every item of this table it answers as the list does.
//!
//! The items of a public list travel in the same form, and so do discovered items.

use std::num::NonZeroU32;
use std::sync::Arc;

use dpsel_exact::random::{Bloom, Digest};
use dpsel_exact::{Error, Result};

use super::decisions::Decisions;
use super::digest_maps::DigestSet;
use dpsel_exact::random::bytes::take_digest;

const DAMAGED: Error = Error::Internal("a released set is damaged");
/// First byte of a packed list. Decisions follow.
const LIST: u8 = 0;
/// First byte of a packed filter. Its number of probes, its number of bytes, its bytes and the digests of its false
/// positives follow.
const FILTER: u8 = 1;

/// Vocabularies have gaps with this digest, so a filter is asked about it as well.
const NO_ITEM: Digest = Digest(0);

/// The released items.
#[derive(Debug, Clone)]
pub struct ReleasedSet(SetForm);

#[derive(Debug, Clone)]
enum SetForm {
    /// The items themselves, shared by the tasks of a process.
    List(Arc<DigestSet>),
    /// A filter that the items pass, and the other items of the table that pass it.
    Filter { bloom: Bloom, false_positives: DigestSet },
}

impl Default for ReleasedSet {
    fn default() -> Self {
        Self(SetForm::List(Arc::default()))
    }
}

impl ReleasedSet {
    /// Pack the items of packed decisions: as a list, or as a filter with `bits` for each item. The false positives are
    /// to be appended to a filter. An empty set has no bytes.
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
        let mut bloom = Bloom::new(items.len(), bits);
        items.for_each(|(item, _)| bloom.insert(item));
        let bytes = (bloom.bits.len() as u64).to_le_bytes();
        Ok([&[FILTER, bloom.probes], bytes.as_slice(), &bloom.bits].concat())
    }

    /// A list of these items.
    pub(crate) fn list(items: &[Digest]) -> Self {
        Self(SetForm::List(Arc::new(items.iter().copied().collect())))
    }

    /// Read a packed set; no bytes are the empty set.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged.
    pub fn unpack(packed: &[u8]) -> Result<Self> {
        match packed {
            [] => Ok(Self::default()),
            [LIST, items @ ..] => {
                let items = Decisions::each(items)?.map(|(item, _)| item);
                Ok(Self(SetForm::List(Arc::new(items.collect()))))
            }
            [FILTER, probes, rest @ ..] => unpack_filter(*probes, rest).map(Self),
            _ => Err(DAMAGED),
        }
    }

    pub(crate) fn contains(&self, item: Digest) -> bool {
        match &self.0 {
            SetForm::List(items) => items.contains(&item),
            SetForm::Filter { bloom, false_positives } => {
                bloom.passes(item) && !false_positives.contains(&item)
            }
        }
    }

    /// Whether the set has this item. A list gives each item once. A filter cannot remove items, and answers as before.
    pub(crate) fn take(&mut self, item: Digest) -> bool {
        match &mut self.0 {
            SetForm::List(items) => items.contains(&item) && Arc::make_mut(items).remove(&item),
            SetForm::Filter { .. } => self.contains(item),
        }
    }

    /// Whether no item is left in a list. A filter never says so.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.0 {
            SetForm::List(items) => items.is_empty(),
            SetForm::Filter { .. } => false,
        }
    }
}

fn unpack_filter(probes: u8, packed: &[u8]) -> Result<SetForm> {
    let (bytes, rest) = packed.split_first_chunk().ok_or(DAMAGED)?;
    let bytes = usize::try_from(u64::from_le_bytes(*bytes)).map_err(|_| DAMAGED)?;
    let (bits, mut rest) = rest.split_at_checked(bytes).ok_or(DAMAGED)?;
    if bits.is_empty() {
        return Err(DAMAGED);
    }
    let mut false_positives = DigestSet::from_iter([NO_ITEM]);
    while !rest.is_empty() {
        false_positives.insert(take_digest(&mut rest)?);
    }
    Ok(SetForm::Filter { bloom: Bloom { probes, bits: bits.into() }, false_positives })
}

#[cfg(test)]
mod tests {
    use dpsel_exact::random::{Purpose, ReleaseKey, Words};
    use proptest::prelude::*;

    use super::*;

    fn digests(numbers: std::ops::Range<u128>) -> Vec<Digest> {
        let words = Words::new(&ReleaseKey::insecure_test([1; 32]), Purpose::Noise, 0);
        numbers.map(|number| Digest(words.word(Digest(number)))).collect()
    }

    fn decisions(items: &[Digest]) -> Vec<u8> {
        Decisions::pack(items.iter().map(|item| (*item, 0)))
    }

    #[test]
    fn few_other_items_pass_a_filter_and_none_once_its_false_positives_are_appended() {
        let (released, others) = (digests(0..20_000), digests(20_000..120_000));
        for (bits, at_most) in [(1, 0.64), (2, 0.40), (8, 0.022), (20, 0.000_1)] {
            let mut packed = ReleasedSet::pack(&decisions(&released), NonZeroU32::new(bits)).unwrap();
            assert_eq!(packed.len(), 10 + 20_000 * bits as usize / 8 + 1);
            let filter = ReleasedSet::unpack(&packed).unwrap();
            assert!(released.iter().all(|item| filter.contains(*item)));
            let passed: Vec<Digest> = others.iter().copied().filter(|item| filter.contains(*item)).collect();
            let share = passed.len() as f64 / others.len() as f64;
            assert!(
                (0.8 * at_most..at_most).contains(&share) || bits == 20 && share < at_most,
                "{bits}: {share}"
            );
            packed.extend(passed.iter().flat_map(|item| item.0.to_le_bytes()));
            let exact = ReleasedSet::unpack(&packed).unwrap();
            assert!(released.iter().all(|item| exact.contains(*item)));
            assert!(!others.iter().any(|item| exact.contains(*item)));
        }
    }

    #[test]
    fn a_list_gives_each_item_once() {
        let items = digests(0..3);
        let mut set =
            ReleasedSet::unpack(&ReleasedSet::pack(&decisions(&items[..2]), None).unwrap()).unwrap();
        assert_eq!(
            [items[0], items[0], items[2], items[1]].map(|item| set.take(item)),
            [true, false, false, true]
        );
        assert!(set.is_empty() && ReleasedSet::unpack(&[]).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn damaged_values_are_refused(packed in prop::collection::vec(any::<u8>(), 0..200), tag in 0_u8..3) {
            for packed in [packed.clone(), [[tag].as_slice(), &packed].concat()] {
                if let Ok(set) = ReleasedSet::unpack(&packed) {
                    set.contains(Digest(1));
                }
            }
        }
    }

    #[test]
    fn filters_without_bits_are_refused() {
        let nothing = [&[FILTER, 3][..], &[0; 8]].concat();
        assert!(ReleasedSet::unpack(&nothing).is_err() && ReleasedSet::unpack(&[2]).is_err());
        assert!(ReleasedSet::pack(&[0; 25], NonZeroU32::new(8)).is_err());
    }
}
