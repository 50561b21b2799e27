//! Packed contributions become contributions again, whose items have digests and no names.

use arrow_schema::DataType;
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{Contributions, ContributionsBuilder, RowOrder};
use dpsel_rows::ingest::ItemSchema;

use super::batcher::one_thread;
use crate::exchange::wire::{Dictionaries, unpack};

/// The users of one packed value, as the order says.
///
/// # Errors
/// [`dpsel_exact::Error::Internal`] if it is damaged.
pub(crate) fn unpacked(packed: &[u8], key: &ReleaseKey, order: RowOrder) -> Result<Option<Contributions>> {
    let mut unpacker = Unpacker::new(key, order);
    unpacker.push(packed)?;
    unpacker.take()
}

/// Collects packed contributions.
#[derive(Debug)]
pub(super) struct Unpacker {
    dictionaries: Dictionaries,
    builder: Option<ContributionsBuilder>,
    order: RowOrder,
}

impl Unpacker {
    /// The items of each user stand in this order.
    pub(super) fn new(key: &ReleaseKey, order: RowOrder) -> Self {
        Self { dictionaries: Dictionaries::new(key), builder: None, order }
    }

    /// Add packed contributions, and return the number of their rows.
    pub(super) fn push(&mut self, packed: &[u8]) -> Result<usize> {
        let builder = self.builder.get_or_insert_with(|| ContributionsBuilder::new(&one_thread()));
        unpack(packed, &self.dictionaries, builder)
    }

    /// Hand out everything since the last time; `None` if nothing came.
    pub(super) fn take(&mut self) -> Result<Option<Contributions>> {
        let Some(builder) = self.builder.take() else {
            return Ok(None);
        };
        let no_names = ItemSchema::new([("item", &DataType::Null)])?;
        builder.finish(no_names, &self.order).map(Some)
    }
}
