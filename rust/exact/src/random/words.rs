//! Pseudorandom 128-bit words for items and for (user, item) pairs.

use aes::Aes256;
use aes::cipher::KeyInit;

use super::cipher::{encrypt, encrypt_one};
use super::{Digest, Purpose, ReleaseKey};

/// One 128-bit word per item: AES-256 of the item's digest under the subkey of (purpose, round).
///
/// # Contract
/// For distinct digests the words are computationally indistinguishable from independent uniform
/// 128-bit integers, up to the PRP/PRF switching distance n^2 / 2^129 for n items.
#[derive(Clone)]
pub struct Words(Aes256);

impl Words {
    /// The function for one purpose and round.
    #[must_use]
    pub fn new(key: &ReleaseKey, purpose: Purpose, round: u32) -> Self {
        Self(Aes256::new(&key.subkey(purpose, round).into()))
    }

    /// The word of one digest.
    #[must_use]
    pub fn word(&self, digest: Digest) -> u128 {
        encrypt_one(&self.0, digest.0)
    }

    /// The words of many digests.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn fill(&self, digests: &[Digest], words: &mut [u128]) {
        assert_eq!(digests.len(), words.len());
        for (word, digest) in words.iter_mut().zip(digests) {
            *word = digest.0;
        }
        self.replace(words);
    }

    /// Put words in place of the digests.
    pub fn replace(&self, digests: &mut [u128]) {
        encrypt(&self.0, digests);
    }
}

/// One 128-bit word per (user, item): two-block CBC-MAC over the two digests.
///
/// # Contract
/// As [`Words`], for pairs: a two-block CBC-MAC of a fixed length is a PRF (Bellare, Kilian, Rogaway).
#[derive(Clone)]
pub struct PairWords(Aes256);

impl PairWords {
    /// The function for one purpose.
    #[must_use]
    pub fn new(key: &ReleaseKey, purpose: Purpose) -> Self {
        Self(Aes256::new(&key.subkey(purpose, 0).into()))
    }

    /// The words of one user's items: `words` holds the item digests on entry.
    pub fn fill_for_user(&self, user: Digest, words: &mut [u128]) {
        let chain = encrypt_one(&self.0, user.0);
        for word in words.iter_mut() {
            *word ^= chain;
        }
        encrypt(&self.0, words);
    }
}

impl std::fmt::Debug for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Words(..)")
    }
}

impl std::fmt::Debug for PairWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PairWords(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ReleaseKey {
        ReleaseKey::insecure_test(*b"0123456789abcdef0123456789abcdef")
    }

    #[test]
    fn batches_and_single_words_agree() {
        let words = Words::new(&key(), Purpose::Noise, 2);
        let digests: Vec<Digest> = (0..61).map(|i| Digest(i * 0x1234_5678_9abc)).collect();
        let mut out = vec![0; digests.len()];
        words.fill(&digests, &mut out);
        for (d, w) in digests.iter().zip(&out) {
            assert_eq!(words.word(*d), *w);
        }
    }

    #[test]
    fn pairs_depend_on_both_sides() {
        let pairs = PairWords::new(&key(), Purpose::Bound);
        let word = |u, i| {
            let mut w = [i];
            pairs.fill_for_user(Digest(u), &mut w);
            w[0]
        };
        assert_ne!(word(1, 2), word(2, 1));
        assert_ne!(word(1, 2), word(1, 3));
        assert_eq!(word(5, 6), word(5, 6));
    }
}
