//! The release key and the subkeys derived from it.

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{Error, Result};

/// The purpose of a subkey. Each purpose has its own independent function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Digests of item keys.
    ItemDigest = 1,
    /// Digests of user keys.
    UserDigest = 2,
    /// Which items of a user with too many are kept.
    Bound = 3,
    /// The order in which sequential mechanisms visit users.
    Order = 4,
    /// Each item's noise.
    Noise = 5,
    /// The commitment to the key in the report.
    Commitment = 6,
    /// The draws of a top-k mechanism.
    TopK = 7,
    /// Each item's noise in a top-k mechanism that has such.
    TopKNoise = 8,
    /// The noise of the counts that are published with a top-k.
    TopKCounts = 9,
    /// The mask of items on their way between machines.
    Mask = 10,
    /// Masking the bytes that the driver of a cluster sends to all tasks.
    Packed = 11,
    /// The noise that ranks the items for a matching.
    Ranking = 12,
    /// The noise of the score by which a look at the data chooses a mechanism.
    Look = 13,
    /// The noise of the numbers of users that are published with a selection.
    Counts = 14,
    /// The noise of the numbers of users from which a limit follows.
    Limit = 15,
    /// The noise of the numbers of what a published list covers.
    Rest = 16,
    /// Each item's noise in one release of a series.
    Series = 17,
    /// The key of one sealed file.
    Sealed = 18,
    /// The tag of a file.
    Tag = 19,
    /// The digest at the end of the state of a series.
    State = 20,
}

/// A fresh 256-bit key, drawn for one release and forgotten after it.
///
/// Its bytes are wiped on drop and appear in no `Debug` output.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ReleaseKey {
    bytes: [u8; 32],
    insecure_test: bool,
}

impl ReleaseKey {
    /// Draw a key from the operating system.
    ///
    /// # Errors
    /// [`Error::Entropy`] if the system gives no random bytes.
    pub fn from_system() -> Result<Self> {
        Ok(Self { bytes: system_bytes()?, insecure_test: false })
    }

    /// A key known to the caller: reproducible, hence **not private**. The report is stamped with it.
    #[must_use]
    pub fn insecure_test(bytes: [u8; 32]) -> Self {
        Self { bytes, insecure_test: true }
    }

    /// A key that was drawn from the system before, and kept by the caller.
    #[must_use]
    pub fn kept(bytes: [u8; 32]) -> Self {
        Self { bytes, insecure_test: false }
    }

    /// The key in clear, for a state that is as secret as the key.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        self.bytes
    }

    /// The key in clear, to be wrapped. Whoever sees it can undo the release's privacy.
    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// The key that the machines of a release share, unwrapped.
    pub(super) fn of_machines(bytes: &[u8; 32], insecure_test: bool) -> Self {
        Self { bytes: *bytes, insecure_test }
    }

    /// Whether the key was given by a test instead of the system.
    #[must_use]
    pub fn is_insecure_test(&self) -> bool {
        self.insecure_test
    }

    /// The subkey for a purpose and round: keyed BLAKE3 of a fixed-length, domain-separated name.
    #[must_use]
    pub fn subkey(&self, purpose: Purpose, round: u32) -> [u8; 32] {
        let mut name = *b"dpsel.v1.subkey\0\0\0\0\0";
        name[15] = purpose as u8;
        name[16..20].copy_from_slice(&round.to_le_bytes());
        *blake3::keyed_hash(&self.bytes, &name).as_bytes()
    }

    /// Keyed BLAKE3 of some bytes under the subkey of a purpose.
    #[must_use]
    pub fn hash(&self, purpose: Purpose, bytes: &[u8]) -> [u8; 32] {
        let key = Zeroizing::new(self.subkey(purpose, 0));
        *blake3::keyed_hash(&key, bytes).as_bytes()
    }

    /// A hex string that binds the release to its key and reveals nothing about it.
    #[must_use]
    pub fn commitment(&self) -> String {
        blake3::Hash::from_bytes(self.subkey(Purpose::Commitment, 0)).to_hex().to_string()
    }
}

/// Random bytes of the operating system.
pub fn system_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| Error::Entropy(e.to_string()))?;
    Ok(bytes)
}

impl std::fmt::Debug for ReleaseKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReleaseKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_keys_differ_and_debug_is_silent() {
        let (a, b) = (ReleaseKey::from_system().unwrap(), ReleaseKey::from_system().unwrap());
        assert_ne!(a.commitment(), b.commitment());
        assert_eq!(format!("{a:?}"), "ReleaseKey(..)");
    }

    #[test]
    fn subkeys_are_separated_by_purpose_and_round() {
        let key = ReleaseKey::insecure_test([7; 32]);
        let mut seen = std::collections::BTreeSet::new();
        for purpose in
            [Purpose::ItemDigest, Purpose::Bound, Purpose::Noise, Purpose::TopKCounts, Purpose::Counts]
        {
            for round in [0, 1, 256] {
                assert!(seen.insert(key.subkey(purpose, round)));
            }
        }
    }
}
