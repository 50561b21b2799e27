//! The items of a value whose rows name them by place, each with the most users that it can have (0 if no users were
//! counted). Layout, all little-endian: their number (`u32`), their digests, and the users of each as `u32`.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;

use super::bytes::{push_digest, take_digest, take_u32};

/// Append a dictionary.
pub(crate) fn push_dictionary(items: &[(Digest, u32)], packed: &mut Vec<u8>) {
    packed.reserve(items.len() * (size_of::<Digest>() + size_of::<u32>()));
    packed.extend(codes(items.len()).to_le_bytes());
    for (item, _) in items {
        push_digest(*item, packed);
    }
    for (_, users) in items {
        packed.extend(users.to_le_bytes());
    }
}

/// Read a dictionary from the start of packed bytes.
///
/// # Errors
/// [`Error::Internal`](dpsel_exact::Error::Internal) if it is damaged.
pub(crate) fn take_dictionary(packed: &mut &[u8]) -> Result<Vec<(Digest, u32)>> {
    let items = take_u32(packed)?;
    let digests = (0..items).map(|_| take_digest(packed)).collect::<Result<Vec<_>>>()?;
    digests.into_iter().map(|item| Ok((item, take_u32(packed)?))).collect()
}
