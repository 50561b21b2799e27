//! A sequence of pseudorandom bits: the words of the numbers 0, 1, 2, ... under one subkey.

use aes::Aes256;
use aes::cipher::KeyInit;

use super::cipher::encrypt;
use super::{Digest, Purpose, ReleaseKey, Words};
use crate::numeric::Bits;

/// Words made at a time.
const BATCH: usize = 16;

/// Bits for a computation that asks for them one after the other and whose order is fixed by its input.
///
/// # Contract
/// The n-th word is AES-256 of n under the subkey of (purpose, round): computationally indistinguishable from
/// independent uniform 128-bit integers, up to n^2 / 2^129 for n words.
pub struct Coins {
    cipher: Aes256,
    next: u128,
    words: [u128; BATCH],
    used: usize,
    half: Option<u64>,
}

impl Coins {
    /// The sequence of one purpose and round.
    #[must_use]
    pub fn new(key: &ReleaseKey, purpose: Purpose, round: u32) -> Self {
        let cipher = Aes256::new(&key.subkey(purpose, round).into());
        Self { cipher, next: 0, words: [0; BATCH], used: BATCH, half: None }
    }

    fn fill(&mut self) {
        for (word, number) in self.words.iter_mut().zip(self.next..) {
            *word = number;
        }
        encrypt(&self.cipher, &mut self.words);
        self.next += BATCH as u128;
        self.used = 0;
    }
}

impl Bits for Coins {
    fn word(&mut self) -> u128 {
        if self.used == BATCH {
            self.fill();
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    fn half_word(&mut self) -> u64 {
        if let Some(high) = self.half.take() {
            return high;
        }
        let (low, high) = halves(self.word());
        self.half = Some(high);
        low
    }
}

/// The bits of one item: its words under the rounds 0, 1, 2, ... of a purpose.
///
/// # Contract
/// As [`super::Words`]: they depend on the key, the purpose and the item alone, not on other items or their order.
#[derive(Debug)]
pub struct ItemBits<'a> {
    key: &'a ReleaseKey,
    purpose: Purpose,
    digest: Digest,
    round: u32,
    half: Option<u64>,
    first: Option<u128>,
}

impl<'a> ItemBits<'a> {
    /// The bits of an item whose word under round 0 is `first`.
    #[must_use]
    pub fn new(key: &'a ReleaseKey, purpose: Purpose, digest: Digest, first: u128) -> Self {
        Self { key, purpose, digest, round: 0, half: None, first: Some(first) }
    }
}

impl Bits for ItemBits<'_> {
    fn word(&mut self) -> u128 {
        self.first.take().unwrap_or_else(|| {
            self.round += 1;
            Words::new(self.key, self.purpose, self.round).word(self.digest)
        })
    }

    fn half_word(&mut self) -> u64 {
        if let Some(high) = self.half.take() {
            return high;
        }
        let (low, high) = halves(self.word());
        self.half = Some(high);
        low
    }
}

/// The low and the high half of a word.
#[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
fn halves(word: u128) -> (u64, u64) {
    (word as u64, (word >> 64) as u64)
}

impl std::fmt::Debug for Coins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Coins(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coins(round: u32) -> Coins {
        Coins::new(&ReleaseKey::insecure_test([5; 32]), Purpose::TopK, round)
    }

    #[test]
    fn the_sequence_is_that_of_the_key_purpose_and_round() {
        let words: Vec<u128> = (0..40).map(|_| coins(1).word()).collect();
        assert!(words.iter().all(|word| *word == words[0]));
        let (mut a, mut b, mut c) = (coins(1), coins(1), coins(2));
        let distinct: std::collections::BTreeSet<u128> =
            (0..40).flat_map(|_| [a.word(), b.word(), c.word()]).collect();
        assert_eq!(distinct.len(), 80);
    }

    #[test]
    fn numbers_below_a_limit_are_uniform() {
        let mut coins = coins(0);
        assert_eq!(coins.below(1), 0);
        for n in [2_u128, 3, 5, (1 << 64) + 1, u128::MAX] {
            assert!((0..200).all(|_| coins.below(n) < n));
        }
        let mut seen = [0_u32; 6];
        for _ in 0..60_000 {
            seen[usize::try_from(coins.below(6)).unwrap()] += 1;
        }
        // Six standard deviations are 550.
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 550), "{seen:?}");
        assert!((0..100).any(|_| coins.below(u128::MAX) > u128::MAX / 2));
    }

    #[test]
    fn an_items_bits_are_its_own() {
        let key = ReleaseKey::insecure_test([5; 32]);
        let words = Words::new(&key, Purpose::TopKNoise, 0);
        let bits = |n: u128| ItemBits::new(&key, Purpose::TopKNoise, Digest(n), words.word(Digest(n)));
        let (mut a, mut b) = (bits(1), bits(2));
        let first: Vec<u64> = (0..6).map(|_| a.half_word()).collect();
        assert!(first.iter().all(|half| *half != b.half_word()));
        let mut again = bits(1);
        assert_eq!(first, (0..6).map(|_| again.half_word()).collect::<Vec<_>>());
    }
}
