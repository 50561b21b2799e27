//! Files with a name that hold secrets between two calls, such as the state of a series.
//!
//! Each is encrypted and authenticated with AES-256-GCM under a key of its own: keyed BLAKE3 of 32 random bytes in front
//! of it. So no key is used twice, and the nonce may be zero. A label, which says what the file is, is authenticated and
//! not in it.
//!
//! Layout: a byte for the version, the random bytes, the encrypted content, and the tag. The content is the length of
//! what was sealed (`u64`), this itself, and zeros up to a size of a coarse grid, so that the size tells little.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit};
use dpsel_exact::random::{Purpose, ReleaseKey, system_bytes};
use dpsel_exact::{Error, Result};
use zeroize::Zeroizing;

use super::space::TAG;

const VERSION: u8 = 1;
const SALT: usize = 32;
const HEADER: usize = 1 + SALT;
/// Bytes of the length of what was sealed.
const LENGTH: usize = size_of::<u64>();
/// The least size of a content.
const LEAST: usize = 256;
/// A size has this many bits that may be other than 0: it grows by an eighth at least.
const BITS: u32 = 4;
/// The key is new, so the nonce need not be.
const NONCE: [u8; 12] = [0; 12];

const SEALING: Error = Error::Internal("a file cannot be sealed");

/// Seal bytes under a key. Every call draws a key of its own from it.
///
/// # Errors
/// [`Error::Entropy`] if the system gives no random bytes.
pub fn seal(key: &ReleaseKey, label: &[u8], plain: &[u8]) -> Result<Vec<u8>> {
    let salt: [u8; SALT] = system_bytes()?;
    let padded = padded(LENGTH + plain.len());
    let mut sealed = Vec::with_capacity(HEADER + padded + TAG);
    sealed.push(VERSION);
    sealed.extend(salt);
    sealed.extend((plain.len() as u64).to_le_bytes());
    sealed.extend(plain);
    sealed.resize(HEADER + padded, 0);
    let cipher = cipher(key, &salt)?;
    let content = &mut sealed[HEADER..];
    let tag = cipher.encrypt_inout_detached(&NONCE.into(), &bound(label), content.into());
    let tag: [u8; TAG] = tag.map_err(|_| SEALING)?.into();
    sealed.extend(tag);
    Ok(sealed)
}

/// What was sealed under this key and label.
///
/// # Errors
/// [`Error::Data`] if the bytes are not what [`seal`] gave for the two.
pub fn unseal(key: &ReleaseKey, label: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let (version, rest) = sealed.split_first().ok_or_else(damaged)?;
    let (salt, rest) = rest.split_first_chunk::<SALT>().ok_or_else(damaged)?;
    let (content, tag) = rest.split_last_chunk::<TAG>().ok_or_else(damaged)?;
    if *version != VERSION {
        return Err(damaged());
    }
    let mut content = Zeroizing::new(content.to_vec());
    let cipher = cipher(key, salt)?;
    cipher
        .decrypt_inout_detached(&NONCE.into(), &bound(label), content.as_mut_slice().into(), &(*tag).into())
        .map_err(|_| damaged())?;
    let (length, plain) = content.split_first_chunk::<LENGTH>().ok_or_else(damaged)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
    if length > plain.len() {
        return Err(damaged());
    }
    content.truncate(LENGTH + length);
    content.drain(..LENGTH);
    Ok(content)
}

/// A keyed digest of bytes, by which one can tell that they are the same.
#[must_use]
pub fn tag(key: &ReleaseKey, bytes: &[u8]) -> [u8; 32] {
    key.hash(Purpose::Tag, bytes)
}

fn cipher(key: &ReleaseKey, salt: &[u8; SALT]) -> Result<Aes256Gcm> {
    let own = Zeroizing::new(key.hash(Purpose::Sealed, salt));
    Aes256Gcm::new_from_slice(own.as_slice()).map_err(|_| SEALING)
}

/// What is authenticated beside the content.
fn bound(label: &[u8]) -> Vec<u8> {
    [&[VERSION], label].concat()
}

/// The size of a content of at least `bytes` bytes.
fn padded(bytes: usize) -> usize {
    let bytes = bytes.max(LEAST);
    let step = 1 << (bytes.ilog2() + 1 - BITS);
    bytes.next_multiple_of(step)
}

fn damaged() -> Error {
    Error::Data {
        source_name: "a sealed file".into(),
        what: "it is not what was sealed under this key and for this place".into(),
        fix: "give the key that it was sealed with, and the file as it was written",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> ReleaseKey {
        ReleaseKey::kept([byte; 32])
    }

    proptest! {
        #[test]
        fn only_what_was_sealed_is_unsealed(
            plain in prop::collection::vec(any::<u8>(), 0..600), label: Vec<u8>, at: prop::sample::Index, bit in 0..8_u32,
        ) {
            let sealed = seal(&key(1), &label, &plain).unwrap();
            let opened = unseal(&key(1), &label, &sealed).unwrap();
            prop_assert_eq!(opened.as_slice(), plain.as_slice());
            prop_assert!(unseal(&key(2), &label, &sealed).is_err());
            prop_assert!(unseal(&key(1), &[label.as_slice(), b"x"].concat(), &sealed).is_err());
            prop_assert!(unseal(&key(1), &label, &sealed[..at.index(sealed.len())]).is_err());
            let mut changed = sealed;
            let at = at.index(changed.len());
            changed[at] ^= 1 << bit;
            prop_assert!(unseal(&key(1), &label, &changed).is_err());
            changed[at] ^= 1 << bit;
            changed.push(0);
            prop_assert!(unseal(&key(1), &label, &changed).is_err());
        }
    }

    /// Equal contents look different, and the size tells at most an eighth.
    #[test]
    fn a_sealed_file_tells_its_size_up_to_an_eighth() {
        let sealed = |bytes: usize| seal(&key(1), b"state", &vec![7; bytes]).unwrap();
        assert_ne!(sealed(10), sealed(10));
        let sizes: std::collections::BTreeSet<_> = (0..4096).map(|bytes| sealed(bytes).len()).collect();
        assert_eq!(sizes.len(), 1 + 8 * 4 + 1);
        for bytes in [1000, 10_000, 100_000] {
            assert!(sealed(bytes).len() <= HEADER + TAG + (bytes + LENGTH) * 9 / 8 + 1);
        }
    }

    #[test]
    fn tags_depend_on_key_and_bytes() {
        let tags = [tag(&key(1), b"a"), tag(&key(2), b"a"), tag(&key(1), b"b"), tag(&key(1), b"")];
        assert!((1..4).all(|at| tags[..at].iter().all(|other| *other != tags[at])));
        assert_eq!(tag(&key(1), b"a"), tags[0]);
    }
}
