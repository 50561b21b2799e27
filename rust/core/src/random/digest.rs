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

use super::words::encrypt;
use super::{Purpose, ReleaseKey};

/// Most bytes that are encoded as they are; longer values are hashed first.
const INLINE_BYTES: usize = 75;
/// Bytes of a value that share the first block with the tag and the length.
const FIRST: usize = 11;
/// Added to the tag of a value that was hashed first.
const LONG: u8 = 0x80;

/// A keyed 128-bit digest of a canonical key. Equal keys have equal digests under one release key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest(pub(crate) u128);

/// The type tag of a canonical encoding: keys of different kinds are never equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Any integer width, signed or not.
    Integer = 1,
    /// Any UTF-8 string type.
    Text = 2,
    /// Any binary type.
    Binary = 3,
    /// Boolean.
    Boolean = 4,
    /// Calendar date, in days since 1970-01-01.
    Date = 5,
    /// Timestamp without zone, in nanoseconds.
    Timestamp = 6,
    /// Timestamp with zone, in nanoseconds UTC.
    Instant = 7,
    /// Several columns.
    Composite = 8,
}

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

    /// Digests of integer-like keys, appended to `out`.
    pub fn integers(&self, kind: KeyKind, values: impl IntoIterator<Item = i128>, out: &mut Vec<Digest>) {
        let mut lanes = [0_u128; 16];
        let mut n = 0;
        for value in values {
            lanes[n] = integer_block(kind, value);
            n += 1;
            if n == lanes.len() {
                encrypt(&self.cipher, &mut lanes);
                out.extend(lanes.iter().copied().map(Digest));
                n = 0;
            }
        }
        encrypt(&self.cipher, &mut lanes[..n]);
        out.extend(lanes[..n].iter().copied().map(Digest));
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
        let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
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

/// `tag` in the lowest byte, the value's low 120 bits above it: no accepted type has more.
fn integer_block(kind: KeyKind, value: i128) -> u128 {
    (value.cast_unsigned() << 8) | u128::from(kind as u8)
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
