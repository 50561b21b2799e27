//! Blocks as bytes: columns as they are in memory.

use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::{Error, Result};
use zerocopy::{FromBytes, Immutable, IntoBytes};

pub(super) const DAMAGED: Error = Error::Internal("blocks of users or items are damaged");

/// A block has two parts. One changes only when something leaves, and one in every round.
pub trait PackBlock: Default {
    /// Append the part that seldom changes to a buffer.
    fn pack_fixed(&self, packed: &mut Vec<u8>);

    /// Append the part that changes in every round to a buffer.
    fn pack_changing(&self, packed: &mut Vec<u8>);

    /// Read both parts into this one's memory. Before the first round nothing has changed.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged.
    fn read(&mut self, fixed: &[u8], changing: Option<&[u8]>) -> Result<()>;

    /// Whether something left since the block was read.
    fn is_shorter(&self) -> bool;

    /// Whether nothing is left.
    fn is_empty(&self) -> bool;

    /// Append both parts to a buffer, behind the number of bytes of the first one.
    fn pack(&self, packed: &mut Vec<u8>) {
        let start = packed.len();
        packed.extend([0; size_of::<u64>()]);
        self.pack_fixed(packed);
        let fixed = (packed.len() - start - size_of::<u64>()) as u64;
        packed[start..start + size_of::<u64>()].copy_from_slice(&fixed.to_le_bytes());
        self.pack_changing(packed);
    }

    /// Read what [`PackBlock::pack`] wrote.
    ///
    /// # Errors
    /// As [`PackBlock::read`].
    fn unpack(&mut self, packed: &[u8]) -> Result<()> {
        let (len, rest) = packed.split_first_chunk().ok_or(DAMAGED)?;
        let (fixed, changing) = rest.split_at_checked(index(u64::from_le_bytes(*len))).ok_or(DAMAGED)?;
        self.read(fixed, Some(changing))
    }
}

/// Append a number.
pub(super) fn push_number(number: usize, packed: &mut Vec<u8>) {
    packed.extend(codes(number).to_ne_bytes());
}

/// Take a number off the front.
pub(super) fn take_number(rest: &mut &[u8]) -> Result<usize> {
    let (bytes, tail) = rest.split_first_chunk().ok_or(DAMAGED)?;
    *rest = tail;
    Ok(index(u32::from_ne_bytes(*bytes).into()))
}

/// Append a column.
pub(super) fn push<T: IntoBytes + Immutable>(values: &[T], packed: &mut Vec<u8>) {
    packed.extend_from_slice(values.as_bytes());
}

/// Take so many values off the front, into memory that is there.
pub(super) fn take<T: FromBytes + IntoBytes + Immutable + Clone + Default>(
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

/// Nothing is left over.
pub(super) fn ended(rest: &[u8]) -> Result<()> {
    if rest.is_empty() { Ok(()) } else { Err(DAMAGED) }
}
