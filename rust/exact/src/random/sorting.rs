//! Sorting by pseudorandom words, of which the first 32 bits and a 32-bit code are moved together.
//!
//! The leading bits of pseudorandom words divide them evenly among buckets, and their leading 32 bits nearly always decide.
//! Where two agree in these, the whole words do: codes depend on who else is in the table and on timing, and an order
//! must not.

use crate::numeric::widths::index;

/// The leading 32 bits of a word, and a code.
#[inline]
#[must_use]
pub fn with_code(word: u128, code: u32) -> u64 {
    ((word >> 96) as u64) << 32 | u64::from(code)
}

/// The code beside the bits of a word.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits hold the code")]
#[must_use]
pub fn code_of(word: u64) -> u32 {
    word as u32
}

/// Whether the leading 32 bits of two words are the same.
#[must_use]
pub fn agree(a: u64, b: u64) -> bool {
    (a ^ b) >> 32 == 0
}

/// So many words are sorted without buckets.
const FEW: usize = 48;
/// Pseudorandom words leave one or two in a bucket. With more than so many in one, buckets do not help.
const MANY: u32 = 64;

/// Words that carry codes, and the memory to sort them.
#[derive(Debug, Default)]
pub struct CodedWords {
    /// A buffer for the whole words, or the digests that they are made of.
    pub whole: Vec<u128>,
    /// The words.
    pub words: Vec<u64>,
    spare: Vec<u64>,
    /// How many words each bucket has, and then where its next word goes.
    places: Vec<u32>,
}

impl CodedWords {
    /// Start anew with these words.
    pub fn fill(&mut self, words: impl Iterator<Item = u64>) {
        self.words.clear();
        self.words.extend(words);
    }

    /// Sort all words.
    pub fn sort(&mut self) {
        self.sort_first(usize::MAX);
    }

    /// Sort at least the `first` smallest words to the front, or all if there are fewer. Returns how many are sorted. None
    /// of them agrees with one that is not.
    ///
    /// Leading bits divide pseudorandom words among buckets of one or two. Then each word moves a few places.
    pub fn sort_first(&mut self, first: usize) -> usize {
        let all = self.words.len();
        if all <= FEW || u32::try_from(all).is_err() {
            self.words.sort_unstable();
            return all;
        }
        let shift = u64::BITS - all.ilog2();
        self.places.clear();
        self.places.resize(1 << all.ilog2(), 0);
        for word in &self.words {
            self.places[bucket(*word, shift)] += 1;
        }
        let (mut end, mut most, mut sorted) = (0, 0, all);
        for place in &mut self.places {
            most = most.max(*place);
            (end, *place) = (end + *place, end);
            if sorted == all && end as usize >= first {
                sorted = end as usize;
            }
        }
        if most > MANY {
            self.words.sort_unstable();
            return all;
        }
        self.move_to_buckets(shift, sorted);
        sorted
    }

    /// Move each word to its bucket, and sort the first ones, which end with a bucket.
    fn move_to_buckets(&mut self, shift: u32, sorted: usize) {
        self.spare.resize(self.words.len().max(self.spare.len()), 0);
        for word in &self.words {
            let place = &mut self.places[bucket(*word, shift)];
            self.spare[*place as usize] = *word;
            *place += 1;
        }
        let all = self.words.len();
        for (at, word) in self.spare[..sorted].iter().enumerate() {
            let mut to = at;
            while to > 0 && self.words[to - 1] > *word {
                self.words[to] = self.words[to - 1];
                to -= 1;
            }
            self.words[to] = *word;
        }
        self.words[sorted..].copy_from_slice(&self.spare[sorted..all]);
    }
}

/// The bucket of a word, by its leading bits, of which there are fewer than 32.
#[inline]
fn bucket(word: u64, shift: u32) -> usize {
    index(word >> shift)
}

/// Order sorted words that agree by the whole words of their codes.
pub fn order_ties(sorted: &mut [u64], whole: impl Fn(u32) -> u128) {
    for tied in sorted.chunk_by_mut(|a, b| agree(*a, *b)).filter(|tied| tied.len() > 1) {
        // Runs of one user have the same whole word, and stay as they are.
        let first = whole(code_of(tied[0]));
        if tied.iter().any(|word| whole(code_of(*word)) != first) {
            tied.sort_unstable_by_key(|word| whole(code_of(*word)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Digest, PairWords, Purpose, ReleaseKey};
    use super::*;

    #[test]
    fn the_order_is_that_of_the_whole_words_whatever_the_codes_are() {
        let whole = [9 << 96 | 5, 3 << 96 | 7, 9 << 96 | 1, 1 << 127, 3 << 96 | 2, 9 << 96 | 3];
        let mut expected = whole;
        expected.sort_unstable();
        for turn in 0..whole.len() {
            let mut whole = whole;
            whole.rotate_left(turn);
            for first in 1..=whole.len() + 1 {
                let mut coded = CodedWords::default();
                coded.fill((0_u32..).zip(whole).map(|(code, word)| with_code(word, code)));
                let length = coded.sort_first(first);
                assert!(length >= first.min(whole.len()));
                order_ties(&mut coded.words[..length], |code| whole[code as usize]);
                let ordered = coded.words[..length].iter().map(|word| whole[code_of(*word) as usize]);
                assert_eq!(ordered.collect::<Vec<_>>(), expected[..length]);
            }
        }
    }

    #[test]
    fn the_first_words_are_sorted_and_none_is_lost_whatever_they_are() {
        let key = ReleaseKey::insecure_test([3; 32]);
        let mut random: Vec<u128> = (0..5000).collect();
        PairWords::new(&key, Purpose::Bound).fill_for_user(Digest(7), &mut random);
        let random: Vec<u64> = (0..).zip(random).map(|(code, word)| with_code(word, code)).collect();
        let alike: Vec<u64> = (0..500).map(|n| n * n % 100).collect();
        let mut coded = CodedWords::default();
        for words in [&random[..], &random[..300], &random[..49], &random[..3], &alike, &[7; 200], &[]] {
            let mut expected = words.to_vec();
            expected.sort_unstable();
            for first in [0, 1, 48, 100, 400, usize::MAX] {
                coded.fill(words.iter().copied());
                let sorted = coded.sort_first(first);
                assert!(sorted >= first.min(words.len()) && sorted <= words.len());
                let smallest_left = coded.words[sorted..].iter().min();
                assert!(smallest_left.is_none_or(|left| !agree(coded.words[sorted - 1], *left)));
                assert_eq!(coded.words[..sorted], expected[..sorted]);
                coded.words[sorted..].sort_unstable();
                assert_eq!(coded.words, expected);
            }
        }
    }
}
