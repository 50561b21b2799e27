//! Packed values on the driver, and on their way to tasks.
//!
//! On the driver they are wiped after use, and no text shows them. Tasks get them sealed: masked with a keystream that
//! starts from a keyed hash of the content. So Spark neither logs nor stores digests or numbers in the clear.
//! Equal contents of one release have equal seals. Two different contents never share a part of a keystream.

use arrow_array::RecordBatch;
use dpsel_exact::random::{Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};
use zeroize::Zeroizing;

use super::batches::packed_values;

/// Bytes of the hash that a seal starts with.
const HASH: usize = 32;

/// Packed values, one after the other. They are wiped on drop.
#[derive(Clone, Default)]
pub struct Packed {
    bytes: Zeroizing<Vec<u8>>,
}

impl Packed {
    /// Gather the packed values from the batches that tasks returned.
    ///
    /// # Errors
    /// [`Error::Internal`] for batches with other columns.
    pub fn gathered(batches: &[RecordBatch]) -> Result<Self> {
        let values = batches.iter().map(packed_values).collect::<Result<Vec<_>>>()?;
        let values: Vec<&[u8]> = values.into_iter().flatten().collect();
        // Allocated once, at its final size. Growing would leave an unwiped copy behind.
        Ok(values.concat().into())
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of `self`, followed by the bytes of `more`.
    #[must_use]
    pub fn with(&self, more: &Self) -> Self {
        [self.bytes(), more.bytes()].concat().into()
    }

    /// Seal the bytes for the way to tasks.
    #[must_use]
    pub fn sealed(&self, key: &ReleaseKey) -> Vec<u8> {
        let hash = blake3::keyed_hash(&key.subkey(Purpose::Packed, 0), &self.bytes);
        let mut sealed = vec![0; HASH + self.bytes.len()];
        let (start, body) = sealed.split_at_mut(HASH);
        start.copy_from_slice(hash.as_bytes());
        keystream(key, start, body);
        body.iter_mut().zip(self.bytes.iter()).for_each(|(masked, byte)| *masked ^= byte);
        sealed
    }

    /// Open a seal.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged, or sealed under another key.
    pub fn opened(sealed: &[u8], key: &ReleaseKey) -> Result<Self> {
        const DAMAGED: Error = Error::Internal("what tasks share is damaged");
        let (start, body) = sealed.split_at_checked(HASH).ok_or(DAMAGED)?;
        let mut bytes = Zeroizing::new(vec![0; body.len()]);
        keystream(key, start, &mut bytes);
        bytes.iter_mut().zip(body).for_each(|(byte, masked)| *byte ^= masked);
        let hash = blake3::keyed_hash(&key.subkey(Purpose::Packed, 0), &bytes);
        if hash.as_bytes() == start { Ok(Self { bytes }) } else { Err(DAMAGED) }
    }
}

fn keystream(key: &ReleaseKey, start: &[u8], stream: &mut [u8]) {
    let mut hasher = blake3::Hasher::new_keyed(&key.subkey(Purpose::Packed, 1));
    hasher.update(start).finalize_xof().fill(stream);
}

impl From<Vec<u8>> for Packed {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into() }
    }
}

impl std::fmt::Debug for Packed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packed(..)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> ReleaseKey {
        ReleaseKey::insecure_test([byte; 32])
    }

    proptest! {
        #[test]
        fn what_was_sealed_is_opened(content in proptest::collection::vec(any::<u8>(), 0..200)) {
            let sealed = Packed::from(content.clone()).sealed(&key(1));
            let opened = Packed::opened(&sealed, &key(1)).unwrap();
            prop_assert_eq!(opened.bytes(), content);
            prop_assert!(Packed::opened(&sealed, &key(2)).is_err());
        }

        #[test]
        fn damage_is_found(content in proptest::collection::vec(any::<u8>(), 0..200), place: usize, bit in 0..8_u32) {
            let mut sealed = Packed::from(content).sealed(&key(1));
            let place = place % sealed.len();
            sealed[place] ^= 1_u8 << bit;
            prop_assert!(Packed::opened(&sealed, &key(1)).is_err());
            prop_assert!(Packed::opened(&sealed[..place], &key(1)).is_err());
        }
    }

    #[test]
    fn a_seal_shows_nothing_of_its_content() {
        let content = Packed::from(vec![0; 4096]);
        let sealed = content.sealed(&key(1));
        let mut times = [0; 256];
        for byte in &sealed {
            times[usize::from(*byte)] += 1;
        }
        assert!(times.iter().max() < Some(&60), "a byte occurs 16 times on average");
        // Contents that begin alike do not begin alike under their seals.
        let longer = content.with(&vec![0; 1].into()).sealed(&key(1));
        assert_ne!(sealed[..48], longer[..48]);
        assert_ne!(sealed[32..64], longer[32..64]);
        assert_eq!(format!("{content:?}"), "Packed(..)");
    }
}
