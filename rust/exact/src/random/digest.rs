//! Canonical bytes of user and item keys, and their keyed 128-bit digests.
//!
//! # Canonical bytes
//! A key is encoded as whole 16-byte blocks that start with a type tag:
//!
//! * integers of any width, booleans, dates and timestamps: one block, `tag` and the value as a
//!   15-byte little-endian two's complement integer;
//! * text, binary and composite keys: `tag`, the length in four bytes, then the bytes, zero padded;
//!   when there are more than [`INLINE_BYTES`] of them, `tag + LONG`, the length, and their keyed BLAKE3.
//!
//! The tag and length in the first block fix how many blocks follow, so no encoding is a prefix of another
//! and distinct typed values have distinct encodings (up to a BLAKE3 collision).
//!
//! # Digest
//! CBC-MAC with AES-256 over the blocks. CBC-MAC is a PRF on prefix-free encodings (Petrank and Rackoff,
//! 2000); keys of one block, which are nearly all, are a plain AES permutation and cannot collide.

use aes::Aes256;
use aes::cipher::KeyInit;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::block::{Block, FIRST, KeyKind};
use super::cipher::{decrypt, encrypt, encrypt_one, in_hardware};
use super::{Purpose, ReleaseKey};
use crate::numeric::widths::clipped;

/// Most bytes that are encoded as they are; longer values are hashed first.
const INLINE_BYTES: usize = 75;
/// Added to the tag of a value that was hashed first.
const LONG: u8 = 0x80;

/// A keyed 128-bit digest of a canonical key. Equal keys have equal digests under one release key.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
)]
#[repr(transparent)]
pub struct Digest(pub u128);

/// Computes digests under one subkey.
#[derive(Clone)]
pub struct Digester {
    cipher: Aes256,
    long_key: [u8; 32],
}

impl Digester {
    /// The digester of items or of users.
    #[must_use]
    pub fn new(key: &ReleaseKey, purpose: Purpose) -> Self {
        Self { cipher: Aes256::new(&key.subkey(purpose, 0).into()), long_key: key.subkey(purpose, 1) }
    }

    /// Whether a digest takes less time than a read of memory that is in no cache.
    #[must_use]
    pub fn is_fast() -> bool {
        cfg!(any(test, feature = "testing")) || in_hardware()
    }

    /// Digests of integer-like keys, appended to `out`.
    pub fn integers(&self, kind: KeyKind, values: impl IntoIterator<Item = i128>, out: &mut Vec<Digest>) {
        self.blocks(values.into_iter().map(|value| Block::integer(kind, value)), out);
    }

    /// The digest of an integer-like key, as a word.
    #[must_use]
    pub fn word(&self, kind: KeyKind, value: i128) -> u128 {
        encrypt_one(&self.cipher, Block::integer(kind, value).0)
    }

    /// Write the digests of integer-like keys, one for each of `digests`.
    pub fn fill(&self, kind: KeyKind, values: impl Iterator<Item = i128>, digests: &mut [Digest]) {
        for (digest, value) in digests.iter_mut().zip(values) {
            *digest = Digest(Block::integer(kind, value).0);
        }
        encrypt(&self.cipher, zerocopy::transmute_mut!(digests));
    }

    /// Digests of integer-like keys, appended to `out` as words.
    pub fn words(&self, kind: KeyKind, values: impl Iterator<Item = i128>, out: &mut Vec<u128>) {
        let first = out.len();
        out.extend(values.map(|value| Block::integer(kind, value).0));
        encrypt(&self.cipher, &mut out[first..]);
    }

    /// The values that digests of integer-like keys were made of: one block is permuted, and the key undoes that.
    /// `None` if one is the digest of another kind of key.
    #[must_use]
    pub fn integers_of(&self, kind: KeyKind, digests: &[Digest]) -> Option<Vec<i128>> {
        let value =
            |block: Block| Some(block.parts()).filter(|(tag, _)| *tag == kind as u8).map(|(_, value)| value);
        self.blocks_of(digests).into_iter().map(value).collect()
    }

    /// What digests of keys of one block are made of. For other digests it means nothing, but they are made of it too.
    #[must_use]
    pub fn blocks_of(&self, digests: &[Digest]) -> Vec<Block> {
        let mut blocks: Vec<u128> = digests.iter().map(|digest| digest.0).collect();
        decrypt(&self.cipher, &mut blocks);
        blocks.into_iter().map(Block).collect()
    }

    /// Digests of keys of one block, appended to `out`.
    ///
    /// [`Block::LONG`] is no key: its digest is meaningless.
    pub fn blocks(&self, blocks: impl IntoIterator<Item = Block>, out: &mut Vec<Digest>) {
        let first = out.len();
        out.extend(blocks.into_iter().map(|block| Digest(block.0)));
        encrypt(&self.cipher, zerocopy::transmute_mut!(&mut out[first..]));
    }

    /// Digests of byte-string keys, appended to `out`.
    pub fn bytes<'a>(
        &self,
        kind: KeyKind,
        values: impl IntoIterator<Item = &'a [u8]>,
        batch: &mut DigestBatch,
        out: &mut Vec<Digest>,
    ) {
        batch.clear();
        for value in values {
            self.push_blocks(kind, value, batch);
            if batch.lanes.len() == 16 {
                self.flush(batch, out);
            }
        }
        self.flush(batch, out);
    }

    /// The first block goes to the lanes, the rest (rare) to the tail of the batch.
    fn push_blocks(&self, kind: KeyKind, value: &[u8], batch: &mut DigestBatch) {
        // A value as long as that goes in by its hash, so that its length need not tell it from others.
        let length: u32 = clipped(value.len());
        let hashed;
        let (tag, payload) = if value.len() <= INLINE_BYTES {
            (kind as u8, value)
        } else {
            hashed = blake3::keyed_hash(&self.long_key, value);
            (kind as u8 | LONG, hashed.as_bytes().as_slice())
        };
        let mut first = [0_u8; 16];
        first[0] = tag;
        first[1..5].copy_from_slice(&length.to_le_bytes());
        let head = payload.len().min(FIRST);
        first[5..5 + head].copy_from_slice(&payload[..head]);
        let lane = batch.lanes.len();
        batch.lanes.push(u128::from_le_bytes(first));
        for rest in payload[head..].chunks(16) {
            let mut block = [0_u8; 16];
            block[..rest.len()].copy_from_slice(rest);
            batch.tail.push((lane, u128::from_le_bytes(block)));
        }
    }

    fn flush(&self, batch: &mut DigestBatch, out: &mut Vec<Digest>) {
        encrypt(&self.cipher, &mut batch.lanes);
        for &(lane, block) in &batch.tail {
            let mut word = [batch.lanes[lane] ^ block];
            encrypt(&self.cipher, &mut word);
            batch.lanes[lane] = word[0];
        }
        out.extend(batch.lanes.iter().copied().map(Digest));
        batch.clear();
    }
}

impl std::fmt::Debug for Digester {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Digester(..)")
    }
}

/// Scratch space of [`Digester::bytes`], reused between calls.
#[derive(Debug, Default, Clone)]
pub struct DigestBatch {
    lanes: Vec<u128>,
    tail: Vec<(usize, u128)>,
}

impl DigestBatch {
    fn clear(&mut self) {
        self.lanes.clear();
        self.tail.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digester() -> Digester {
        Digester::new(&ReleaseKey::insecure_test([3; 32]), Purpose::ItemDigest)
    }

    fn one(kind: KeyKind, value: &[u8]) -> Digest {
        let mut out = Vec::new();
        digester().bytes(kind, [value], &mut DigestBatch::default(), &mut out);
        out[0]
    }

    #[test]
    fn batches_agree_with_single_values_at_every_length() {
        let values: Vec<Vec<u8>> = (0..200_u8).map(|n| vec![n; usize::from(n)]).collect();
        let mut all = Vec::new();
        let views = values.iter().map(Vec::as_slice);
        digester().bytes(KeyKind::Text, views, &mut DigestBatch::default(), &mut all);
        for (value, digest) in values.iter().zip(&all) {
            assert_eq!(one(KeyKind::Text, value), *digest);
        }
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), values.len());
    }

    #[test]
    fn short_values_have_a_block_and_its_digest() {
        for length in 0..30_u8 {
            let value: Vec<u8> = (1..=length).collect();
            let block = Block::bytes(KeyKind::Text, &value);
            assert_eq!(block == Block::LONG, value.len() > FIRST);
            if value.len() <= 12 {
                let mut view = [0xee; 16];
                view[..4].copy_from_slice(&u32::from(length).to_le_bytes());
                view[4..4 + value.len()].copy_from_slice(&value);
                assert_eq!(Block::view(KeyKind::Text, u128::from_le_bytes(view)), block);
            }
            if block != Block::LONG {
                let mut out = Vec::new();
                digester().blocks([block], &mut out);
                assert_eq!(out, [one(KeyKind::Text, &value)]);
                let again = digester().blocks_of(&out)[0];
                assert_eq!(again.short_bytes(KeyKind::Text).unwrap().as_slice(), value);
                assert!(again.short_bytes(KeyKind::Binary).is_none());
            }
        }
        assert_eq!(Block::view(KeyKind::Text, u128::MAX), Block::LONG);
    }

    #[test]
    fn kinds_and_padding_are_separated() {
        assert_ne!(one(KeyKind::Text, b"a"), one(KeyKind::Binary, b"a"));
        assert_ne!(one(KeyKind::Text, b"a"), one(KeyKind::Text, b"a\0"));
        let mut ints = Vec::new();
        digester().integers(KeyKind::Integer, [1, -1, 0, i128::from(u64::MAX)], &mut ints);
        digester().integers(KeyKind::Date, [1], &mut ints);
        ints.push(one(KeyKind::Text, b"1"));
        let distinct: std::collections::BTreeSet<_> = ints.iter().collect();
        assert_eq!(distinct.len(), ints.len());
    }

    #[test]
    fn the_key_tells_integers_from_their_digests() {
        let values =
            [0, 1, -1, i128::from(u64::MAX), i128::from(i64::MIN), i128::from(i64::MIN) * 1_000_000_000];
        let mut digests = Vec::new();
        digester().integers(KeyKind::Date, values, &mut digests);
        assert_eq!(digester().integers_of(KeyKind::Date, &digests), Some(values.to_vec()));
        assert_eq!(digester().integers_of(KeyKind::Integer, &digests), None);
        let other = Digester::new(&ReleaseKey::insecure_test([4; 32]), Purpose::ItemDigest);
        assert_ne!(other.integers_of(KeyKind::Date, &digests), Some(values.to_vec()));
    }

    #[test]
    fn many_integers_agree_with_one_at_a_time() {
        let mut all = Vec::new();
        digester().integers(KeyKind::Integer, -40..40, &mut all);
        for (value, digest) in (-40..40).zip(&all) {
            let mut single = Vec::new();
            digester().integers(KeyKind::Integer, [value], &mut single);
            assert_eq!(single[0], *digest);
        }
    }
}
