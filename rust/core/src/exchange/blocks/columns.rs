//! Columns as they are in memory, in bytes.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::{Error, Result};

pub(super) const DAMAGED: Error = Error::Internal("blocks of users are damaged");

/// Take so many values off the front, into memory that is there.
pub(super) fn read<T: FromBytes + IntoBytes + Immutable + Clone + Default>(
    rest: &mut &[u8],
    len: usize,
    values: &mut Vec<T>,
) -> Result<()> {
    let bytes = len.checked_mul(size_of::<T>()).ok_or(DAMAGED)?;
    let (taken, tail) = rest.split_at_checked(bytes).ok_or(DAMAGED)?;
    *rest = tail;
    values.resize(len, T::default());
    values.as_mut_slice().as_mut_bytes().copy_from_slice(taken);
    Ok(())
}
