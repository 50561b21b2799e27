//! The items of a value whose rows name them by place, each with the most users that it can have (0 if no users were
//! counted): their number (`u32`), and packed weights.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;
use dpsel_exact::random::bytes::{CORRUPT, take_u32};

use super::weights::{push_weight, take_weight};

/// Append a dictionary.
pub(crate) fn push_dictionary(items: &[(Digest, u32)], packed: &mut Vec<u8>) {
    packed.extend(codes(items.len()).to_le_bytes());
    for (item, users) in items {
        push_weight(*item, (*users).into(), packed);
    }
}

/// Read a dictionary from the start of packed bytes.
///
/// # Errors
/// [`Error::Internal`](dpsel_exact::Error::Internal) if it is damaged.
pub(crate) fn take_dictionary(packed: &mut &[u8]) -> Result<Vec<(Digest, u32)>> {
    let items = (0..take_u32(packed)?).map(|_| take_weight(packed));
    items
        .map(|found| found.and_then(|(item, users)| Ok((item, users.try_into().map_err(|_| CORRUPT)?))))
        .collect()
}
