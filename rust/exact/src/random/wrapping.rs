//! The release key on its way to other machines: the wrapped key and the value that unwraps it travel separately.
//!
//! `wrapped = key XOR BLAKE3(share, name) XOR BLAKE3(secret, name)`, where `name` holds a fresh salt, and the last term
//! is there if the machines have a secret file. Each term is a pseudorandom function of a key of its own. So the
//! wrapped key tells nothing to whoever lacks the share or the secret, and a share is independent of the key.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::key::{ReleaseKey, system_bytes};
use crate::{Error, Result};

const BYTES: usize = 32;
const SALT: usize = 16;
/// The longest secret file, in bytes.
const LONGEST: u64 = 1 << 20;
const DOMAIN: &[u8; 16] = b"dpsel.v1.wrap\0\0\0";
/// The context of the key that stands for a secret file.
const SECRET_CONTEXT: &str = "dpsel.v1.secret file that wraps release keys";

/// A fresh random value that wraps and unwraps a key. It is wiped on drop and appears in no `Debug` output.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Share {
    bytes: [u8; BYTES],
}

/// A key derived from a secret file that all machines have. It is wiped on drop and appears in no `Debug` output.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret {
    bytes: [u8; BYTES],
}

/// A release key that tells nothing without its [`Share`], and its [`Secret`] if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrappedKey {
    salt: [u8; SALT],
    body: [u8; BYTES],
    commitment: String,
    insecure_test: bool,
}

impl Share {
    /// Draw a share from the operating system.
    ///
    /// # Errors
    /// [`Error::Entropy`] if the system gives no random bytes.
    pub fn from_system() -> Result<Self> {
        Ok(Self { bytes: system_bytes()? })
    }

    /// The share as text, for the channel that it travels by.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(blake3::Hash::from_bytes(self.bytes).to_hex().to_string())
    }

    /// The share that [`Share::to_text`] wrote.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is none.
    pub fn from_text(text: &str) -> Result<Self> {
        let hash = blake3::Hash::from_hex(text);
        let hash = hash.map_err(|_| Error::Internal("the share of the release key is damaged"))?;
        Ok(Self { bytes: *hash.as_bytes() })
    }

    /// Wrap a key.
    ///
    /// # Contract
    /// Every call draws a salt, so keys that are wrapped with the same share have independent wrappings.
    ///
    /// # Errors
    /// [`Error::Entropy`] if the system gives no random bytes.
    pub fn wrap(&self, key: &ReleaseKey, secret: Option<&Secret>) -> Result<WrappedKey> {
        let salt = system_bytes()?;
        let body = xor(key.bytes(), &self.pad(&salt, secret));
        let (commitment, insecure_test) = (key.commitment(), key.is_insecure_test());
        Ok(WrappedKey { salt, body: *body, commitment, insecure_test })
    }

    /// Unwrap a key.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if another share or another secret has wrapped it.
    pub fn unwrap_key(&self, wrapped: &WrappedKey, secret: Option<&Secret>) -> Result<ReleaseKey> {
        let bytes = xor(&wrapped.body, &self.pad(&wrapped.salt, secret));
        let key = ReleaseKey::of_machines(&bytes, wrapped.insecure_test);
        if key.commitment() == wrapped.commitment {
            return Ok(key);
        }
        Err(Error::Incompatible {
            what: "the release key that a task got does not fit".to_owned(),
            fix: "give all machines the same secret_file, and make one release at a time in a session that several \
                  clients share",
        })
    }

    fn pad(&self, salt: &[u8; SALT], secret: Option<&Secret>) -> Zeroizing<[u8; BYTES]> {
        let own = keystream(&self.bytes, salt);
        match secret {
            Some(secret) => xor(&own, &keystream(&secret.bytes, salt)),
            None => own,
        }
    }
}

impl Secret {
    /// The secret in a file.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, is no regular file, or has more than 1 MiB; [`Error::Incompatible`] if it
    /// has fewer than 32 bytes.
    pub fn read(path: &Path) -> Result<Self> {
        let refused = |reason: String| Error::File { action: "read", path: path.to_owned(), reason };
        let failed = |error: std::io::Error| refused(error.to_string());
        // A pipe would be waited for, and a device may never end.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(refused("it is no regular file; name a file of random bytes".into()));
        }
        let mut content = Zeroizing::new(Vec::new());
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(LONGEST + 1).read_to_end(&mut content).map_err(failed)?;
        if content.len() as u64 > LONGEST {
            return Err(refused("it has more than 1 MiB; name a file of random bytes".into()));
        }
        if content.len() < BYTES {
            return Err(Error::Incompatible {
                what: format!("secret_file has fewer than {BYTES} bytes, which can be guessed"),
                fix: "write at least 32 random bytes to it",
            });
        }
        Ok(Self { bytes: blake3::derive_key(SECRET_CONTEXT, &content) })
    }
}

fn keystream(key: &[u8; BYTES], salt: &[u8; SALT]) -> Zeroizing<[u8; BYTES]> {
    let mut hasher = blake3::Hasher::new_keyed(key);
    let hash = hasher.update(DOMAIN).update(salt).finalize();
    Zeroizing::new(*hash.as_bytes())
}

fn xor(one: &[u8; BYTES], other: &[u8; BYTES]) -> Zeroizing<[u8; BYTES]> {
    let mut both = Zeroizing::new(*one);
    both.iter_mut().zip(other).for_each(|(byte, more)| *byte ^= more);
    both
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Share(..)")
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn secret(content: &[u8]) -> Result<Secret> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        Secret::read(file.path())
    }

    #[test]
    fn what_was_wrapped_comes_back() {
        let (share, key) = (Share::from_system().unwrap(), ReleaseKey::insecure_test([7; 32]));
        let secret = secret(&[1; 40]).unwrap();
        for secret in [None, Some(&secret)] {
            let wrapped = share.wrap(&key, secret).unwrap();
            let wrapped = serde_json::from_str(&serde_json::to_string(&wrapped).unwrap()).unwrap();
            let again = Share::from_text(&share.to_text()).unwrap().unwrap_key(&wrapped, secret).unwrap();
            assert_eq!((again.bytes(), again.is_insecure_test()), (key.bytes(), true));
        }
    }

    #[test]
    fn other_shares_and_secrets_do_not_unwrap() {
        let (share, key) = (Share::from_system().unwrap(), ReleaseKey::from_system().unwrap());
        let (right, wrong) = (secret(&[1; 40]).unwrap(), secret(&[2; 40]).unwrap());
        let wrapped = share.wrap(&key, Some(&right)).unwrap();
        assert!(Share::from_system().unwrap().unwrap_key(&wrapped, Some(&right)).is_err());
        assert!(share.unwrap_key(&wrapped, Some(&wrong)).is_err());
        assert!(share.unwrap_key(&wrapped, None).is_err());
        assert!(share.unwrap_key(&share.wrap(&key, None).unwrap(), Some(&right)).is_err());
        assert!(share.unwrap_key(&wrapped, Some(&right)).is_ok());
    }

    #[test]
    fn wrapped_keys_show_neither_key_nor_share_and_never_repeat() {
        let (share, key) = (Share::from_system().unwrap(), ReleaseKey::from_system().unwrap());
        let (one, two) = (share.wrap(&key, None).unwrap(), share.wrap(&key, None).unwrap());
        assert_ne!(one.body, two.body);
        // Were a body a function of the key alone, or the pad one of the share alone, these would agree.
        let other = share.wrap(&ReleaseKey::from_system().unwrap(), None).unwrap();
        assert_ne!(xor(&one.body, key.bytes()), xor(&two.body, key.bytes()));
        for wrapped in [&one, &two, &other] {
            assert_ne!(wrapped.body, *key.bytes());
            assert_ne!(wrapped.body, share.bytes);
        }
        assert_eq!(format!("{share:?} {:?}", secret(&[1; 32]).unwrap()), "Share(..) Secret(..)");
    }

    #[test]
    fn short_secrets_and_damaged_shares_are_refused() {
        assert!(secret(&[1; 31]).is_err());
        assert!(Secret::read(Path::new("no such file")).is_err());
        for text in ["", "00", "reserved", &"g".repeat(64)] {
            assert!(Share::from_text(text).is_err());
        }
    }
}
