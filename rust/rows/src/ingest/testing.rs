//! Digests for unit tests.

use dpsel_exact::random::{Digest, Digester, KeyKind, Purpose, ReleaseKey};

/// The digests of integers.
pub(crate) fn digests(values: &[u64], key: &ReleaseKey, purpose: Purpose) -> Vec<Digest> {
    let mut out = Vec::new();
    let values = values.iter().map(|&v| i128::from(v));
    Digester::new(key, purpose).integers(KeyKind::Integer, values, &mut out);
    out
}

/// The digest of an integer item.
#[must_use]
pub fn item_digest(item: u64, key: &ReleaseKey) -> Digest {
    digests(&[item], key, Purpose::ItemDigest)[0]
}
