//! Integers and digests as bytes of packed values, little-endian. What is taken off the front may be damaged.

use super::Digest;
use crate::numeric::widths::codes;
use crate::{Error, Result};

/// The error of packed values that nobody packed so.
pub const CORRUPT: Error = Error::Internal("a packed value is damaged");

/// Append an integer of variable length: seven bits a byte, the lowest first. The top bit says that more bytes follow.
#[expect(clippy::cast_possible_truncation, reason = "the low byte is meant")]
pub fn push_integer(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Take an integer of variable length off the front.
///
/// # Errors
/// [`CORRUPT`], as of the functions below.
#[inline]
pub fn take_integer(rest: &mut &[u8]) -> Result<u64> {
    match rest {
        // Most have one byte.
        [byte, tail @ ..] if byte & 0x80 == 0 => {
            *rest = tail;
            Ok(u64::from(*byte))
        }
        _ => take_long_integer(rest),
    }
}

fn take_long_integer(rest: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, tail) = rest.split_first().ok_or(CORRUPT)?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(CORRUPT)
}

/// Take four bytes off the front.
///
/// # Errors
/// [`CORRUPT`].
pub fn take_u32(rest: &mut &[u8]) -> Result<u32> {
    let (word, tail) = rest.split_first_chunk().ok_or(CORRUPT)?;
    *rest = tail;
    Ok(u32::from_le_bytes(*word))
}

/// Append a digest.
pub fn push_digest(item: Digest, out: &mut Vec<u8>) {
    out.extend(item.0.to_le_bytes());
}

/// Take a digest off the front.
///
/// # Errors
/// [`CORRUPT`].
pub fn take_digest(rest: &mut &[u8]) -> Result<Digest> {
    let (word, tail) = rest.split_first_chunk().ok_or(CORRUPT)?;
    *rest = tail;
    Ok(Digest(u128::from_le_bytes(*word)))
}

/// Append digests that may be there: their number plus one, or 0 if there are none; and these.
pub fn push_digests(items: Option<&[Digest]>, out: &mut Vec<u8>) {
    out.extend(items.map_or(0, |items| codes(items.len() + 1)).to_le_bytes());
    items.into_iter().flatten().for_each(|item| push_digest(*item, out));
}

/// Take what [`push_digests`] wrote off the front.
///
/// # Errors
/// [`CORRUPT`].
pub fn take_digests(rest: &mut &[u8]) -> Result<Option<Vec<Digest>>> {
    let number = take_u32(rest)?.checked_sub(1);
    number.map(|number| (0..number).map(|_| take_digest(rest)).collect()).transpose()
}
