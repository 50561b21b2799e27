//! Columns as they are in memory, in bytes, and values of which some columns seldom change.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::shared::SharedItems;
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

/// A value in two parts: one changes only when something leaves, and one in every round.
pub(crate) trait InParts: Default {
    /// Read both parts into this one's memory. Before the first round nothing has changed.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged.
    fn read_parts(&mut self, fixed: &[u8], changing: Option<&[u8]>) -> Result<()>;

    /// Append the part that seldom changes to a buffer.
    fn pack_fixed(&self, packed: &mut Vec<u8>);

    /// Append the part that changes in every round to a buffer.
    fn pack_changing(&self, packed: &mut Vec<u8>);

    /// How large the value is, and how much of it is abandoned.
    fn size(&self) -> (usize, usize);

    /// Let what is abandoned leave.
    fn leave(&mut self, shared: &SharedItems);
}
