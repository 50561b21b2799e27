//! The dictionary of packed contributions: each distinct item once.
//!
//! A digest has 16 bytes, and digests are half of the packed bytes. The digest of an integer is a permuted block of a
//! tag and a number, and most numbers fit into 8 bytes. So if all items of a dictionary are integers, it holds the
//! numbers instead. They are masked with a keystream that starts from a keyed hash of them: equal dictionaries look
//! equal, different ones look random. Without the key, masked numbers tell less than digests, which show where an item
//! recurs.
//!
//! Layout, all little-endian: the number of items (`u32`); then either 0 and the digests, or the tag, the start of the
//! keystream (16 bytes) and the masked numbers (8 bytes each). Where items stand above others, 255, the digests and
//! which stand above which.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::{Block, Digest, Digester, Purpose, ReleaseKey, Words};
use dpsel_rows::contributions::Lineage;

use dpsel_exact::random::bytes::{CORRUPT, push_digest, take_digest, take_u32};

/// The tag before digests; no kind of key has it.
pub(super) const DIGESTS: u8 = 0;
/// The tag before digests of items that stand above others.
const LINES: u8 = u8::MAX;
const WORD: usize = size_of::<u64>();

/// Packs and unpacks the dictionaries of one release.
#[derive(Clone)]
pub(crate) struct Dictionaries {
    digester: Digester,
    keystream: Words,
    /// Key of the hash from which a keystream starts.
    start_key: [u8; 32],
}

impl std::fmt::Debug for Dictionaries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Dictionaries(..)")
    }
}

impl Dictionaries {
    pub(crate) fn new(key: &ReleaseKey) -> Self {
        Self {
            digester: Digester::new(key, Purpose::ItemDigest),
            keystream: Words::new(key, Purpose::Mask, 0),
            start_key: key.subkey(Purpose::Mask, 1),
        }
    }

    /// Append the packed items. `lines` says by their places which stand above which, if some do: these come first.
    pub(crate) fn push(&self, items: &[Digest], lines: Option<&Lineage>, packed: &mut Vec<u8>) {
        packed.extend(codes(items.len()).to_le_bytes());
        let numbers = if lines.is_some() { None } else { self.numbers(items) };
        let Some((tag, mut numbers)) = numbers else {
            packed.push(lines.map_or(DIGESTS, |_| LINES));
            for item in items {
                push_digest(*item, packed);
            }
            return lines.into_iter().for_each(|lines| lines.pack(packed));
        };
        let mut hasher = blake3::Hasher::new_keyed(&self.start_key);
        hasher.update(&[tag]);
        for number in &numbers {
            hasher.update(&number.to_le_bytes());
        }
        let mut start = [0; size_of::<u128>()];
        hasher.finalize_xof().fill(&mut start);
        packed.push(tag);
        packed.extend(start);
        self.mask(u128::from_le_bytes(start), &mut numbers);
        packed.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
    }

    /// Take the items that [`Dictionaries::push`] packed off the front, and add them to others. Returns which stand above
    /// which, if some do.
    ///
    /// # Errors
    /// [`Error::Internal`](dpsel_exact::Error::Internal) if it is damaged.
    pub(crate) fn take(&self, rest: &mut &[u8], items: &mut Vec<Digest>) -> Result<Option<Lineage>> {
        let len = take_u32(rest)?;
        let (tag, tail) = rest.split_first().ok_or(CORRUPT)?;
        *rest = tail;
        if [DIGESTS, LINES].contains(tag) {
            (0..len).try_for_each(|_| take_digest(rest).map(|item| items.push(item)))?;
            return (*tag == LINES).then(|| Lineage::take(len, rest)).transpose();
        }
        let Digest(start) = take_digest(rest)?;
        let bytes = usize::try_from(len).ok().and_then(|len| len.checked_mul(WORD)).ok_or(CORRUPT)?;
        let (masked, tail) = rest.split_at_checked(bytes).ok_or(CORRUPT)?;
        *rest = tail;
        let (masked, _) = masked.as_chunks::<WORD>();
        let mut numbers: Vec<u64> = masked.iter().map(|word| u64::from_le_bytes(*word)).collect();
        self.mask(start, &mut numbers);
        self.digests(*tag, numbers.into_iter(), items);
        Ok(None)
    }

    /// Add the items with these numbers to others.
    pub(super) fn digests(&self, tag: u8, numbers: impl Iterator<Item = u64>, items: &mut Vec<Digest>) {
        self.digester.blocks(numbers.map(|number| Block::tagged(tag, number.cast_signed().into())), items);
    }

    /// The common tag and the numbers of the items, if all items are of one kind and all numbers fit.
    pub(super) fn numbers(&self, items: &[Digest]) -> Option<(u8, Vec<u64>)> {
        let blocks = self.digester.blocks_of(items);
        let (tag, _) = blocks.first()?.parts();
        let numbers = blocks.iter().map(|block| match block.parts() {
            (other, number) if other == tag => i64::try_from(number).ok().map(i64::cast_unsigned),
            _ => None,
        });
        Some((tag, numbers.collect::<Option<_>>()?)).filter(|(tag, _)| *tag != DIGESTS)
    }

    /// Mask the numbers with the keystream from `start` on. Masking twice gives the numbers back.
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are meant")]
    fn mask(&self, start: u128, numbers: &mut [u64]) {
        let counters: Vec<Digest> =
            (0..numbers.len().div_ceil(2) as u128).map(|at| Digest(start.wrapping_add(at))).collect();
        let mut stream = vec![0; counters.len()];
        self.keystream.fill(&counters, &mut stream);
        for (pair, word) in numbers.chunks_mut(2).zip(stream) {
            for (number, half) in pair.iter_mut().zip([word as u64, (word >> 64) as u64]) {
                *number ^= half;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::random::KeyKind;
    use proptest::prelude::*;

    use super::*;

    fn dictionaries() -> Dictionaries {
        Dictionaries::new(&ReleaseKey::insecure_test([5; 32]))
    }

    fn digests(kind: KeyKind, numbers: impl IntoIterator<Item = i128>) -> Vec<Digest> {
        let mut digests = Vec::new();
        dictionaries().digester.integers(kind, numbers, &mut digests);
        digests
    }

    fn packed(items: &[Digest]) -> Vec<u8> {
        let mut packed = vec![];
        dictionaries().push(items, None, &mut packed);
        packed
    }

    fn survives(items: &[Digest]) -> usize {
        let packed = [packed(items), vec![1, 2, 3]].concat();
        let mut rest = packed.as_slice();
        let mut taken = vec![Digest(1)];
        assert!(dictionaries().take(&mut rest, &mut taken).unwrap().is_none());
        assert_eq!(taken[1..], *items);
        assert_eq!(rest, [1, 2, 3]);
        packed.len() - 3
    }

    #[test]
    fn integers_take_half_the_bytes() {
        let small = digests(KeyKind::Integer, -500..500);
        assert_eq!(survives(&small), 4 + 1 + 16 + 8 * 1000);
        assert_eq!(survives(&digests(KeyKind::Date, [i64::MIN.into(), i64::MAX.into(), 0])), 21 + 24);
        // Too large; of two kinds; no integers; no items.
        assert_eq!(survives(&digests(KeyKind::Integer, [1, u64::MAX.into()])), 5 + 32);
        assert_eq!(survives(&[digests(KeyKind::Date, [1]), digests(KeyKind::Integer, [1])].concat()), 5 + 32);
        assert_eq!(survives(&[Digest(7), Digest(8)]), 5 + 32);
        assert_eq!(survives(&[]), 5);
    }

    #[test]
    fn lines_survive_and_half_of_them_is_an_error() {
        let (mut lines, items) = (Lineage::default(), [7, 8, 9, 10, 11].map(Digest));
        for (level, above) in [(1, vec![]), (1, vec![]), (2, vec![0, 1]), (32, vec![2]), (2, vec![1])] {
            lines.push(level, above);
        }
        let (mut packed, mut taken) = (Vec::new(), Vec::new());
        dictionaries().push(&items, Some(&lines), &mut packed);
        let back = dictionaries().take(&mut packed.as_slice(), &mut taken).unwrap().unwrap();
        assert_eq!((taken.as_slice(), back.codes(), packed.len()), (&items[..], 5, 5 + 5 * 16 + 10));
        for item in 0..5 {
            assert_eq!(back.level(item), lines.level(item));
            assert!(back.above(item).eq(lines.above(item)));
        }
        for len in 0..packed.len() {
            assert!(dictionaries().take(&mut &packed[..len], &mut Vec::new()).is_err());
        }
        // The item is above itself, or not on a higher level.
        for (at, byte) in [(packed.len() - 1, 0), (packed.len() - 4, 2 << 2 | 1)] {
            let mut damaged = packed.clone();
            damaged[at] = byte;
            assert!(dictionaries().take(&mut damaged.as_slice(), &mut Vec::new()).is_err());
        }
    }

    /// No word of a dictionary recurs in another one, and no number is in the clear.
    #[test]
    fn numbers_are_masked() {
        let words =
            |items: &[Digest]| -> Vec<[u8; WORD]> { packed(items)[21..].as_chunks::<WORD>().0.to_vec() };
        let (some, more) = (digests(KeyKind::Integer, 0..1000), digests(KeyKind::Integer, 0..1001));
        let mut seen: std::collections::HashSet<_> = (0..1001_u64).map(u64::to_le_bytes).collect();
        let all = [words(&some), words(&more)].concat();
        assert!(all.into_iter().all(|word| seen.insert(word)));
        assert_eq!(packed(&some), packed(&some));
    }

    proptest! {
        #[test]
        fn any_items_survive(numbers in prop::collection::vec(any::<i64>(), 0..50), others in prop::collection::vec(any::<u128>(), 0..3)) {
            let items = [digests(KeyKind::Timestamp, numbers.into_iter().map(i128::from)), others.into_iter().map(Digest).collect()];
            survives(&items.concat());
        }

        #[test]
        fn damaged_values_are_refused(packed in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = dictionaries().take(&mut packed.as_slice(), &mut Vec::new());
        }
    }
}
