//! Values of which a part seldom changes.

use super::shared::SharedItems;
use crate::Result;

/// A value in two parts: one changes only when something leaves, and one in every round.
pub(crate) trait InParts: Default {
    /// Read both parts into this one's memory. Before the first round nothing has changed.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if they are damaged.
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
