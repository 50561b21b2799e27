//! Sorting by pseudorandom words that carry a 32-bit code in their last bits.
//!
//! Sorting 128-bit numbers is quick, and their leading 96 bits nearly always decide. Where two agree in these, the
//! whole words do: codes depend on who else is in the table and on timing, and an order must not.

/// A word with a code in place of its last 32 bits.
#[inline]
pub(crate) fn with_code(word: u128, code: u32) -> u128 {
    word >> 32 << 32 | u128::from(code)
}

/// The code in a word.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits hold the code")]
pub(crate) fn code_of(word: u128) -> u32 {
    word as u32
}

/// Whether the leading 96 bits of two words are the same.
fn agree(a: u128, b: u128) -> bool {
    (a ^ b) >> 32 == 0
}

/// Sort the `first` smallest words to the front; all of them if there are no more, or if the next one agrees with the
/// last of these. Returns how many are sorted.
pub(crate) fn sort_first(words: &mut [u128], first: usize) -> usize {
    if first < words.len() {
        words.select_nth_unstable(first);
        words[..first].sort_unstable();
        if first > 0 && !agree(words[first - 1], words[first]) {
            return first;
        }
    }
    words.sort_unstable();
    words.len()
}

/// Order sorted words that agree by the whole words of their codes.
pub(crate) fn order_ties(sorted: &mut [u128], whole: impl Fn(u32) -> u128) {
    for tied in sorted.chunk_by_mut(|a, b| agree(*a, *b)).filter(|tied| tied.len() > 1) {
        tied.sort_unstable_by_key(|word| whole(code_of(*word)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_whole_words_whatever_the_codes_are() {
        let whole = [9 << 32 | 5, 3 << 32 | 7, 9 << 32 | 1, 1 << 100, 3 << 32 | 2, 9 << 32 | 3];
        let mut expected = whole;
        expected.sort_unstable();
        for turn in 0..whole.len() {
            let mut whole = whole;
            whole.rotate_left(turn);
            let mut sorted: Vec<u128> =
                (0_u32..).zip(whole).map(|(code, word)| with_code(word, code)).collect();
            for first in 1..=whole.len() + 1 {
                let length = sort_first(&mut sorted, first);
                assert!(length >= first.min(whole.len()));
                order_ties(&mut sorted[..length], |code| whole[code as usize]);
                let ordered = sorted[..length].iter().map(|word| whole[code_of(*word) as usize]);
                assert_eq!(ordered.collect::<Vec<_>>(), expected[..length]);
            }
        }
    }
}
