//! A task of a scored round on blocks of users.

use dpsel_core::rounds::{BlockRound, PackBlock, Released, SharedTable, UserBlock};
use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use dpsel_exact::random::bytes::{push_digests, take_digests};

use crate::exchange::wire::{BucketedValues, Decisions, PartContents, TO_DRIVER};

/// A round, and what it released of items that one user alone holds.
#[derive(Debug)]
pub(super) struct BlockTask {
    round: BlockRound,
    released: Vec<Released<()>>,
}

impl BlockTask {
    pub(super) fn new(round: BlockRound) -> Self {
        Self { round, released: Vec::new() }
    }

    /// Let the users of a block give to their items. Returns whether later rounds need the block.
    ///
    /// # Errors
    /// As [`UserBlock::run`].
    pub(super) fn run(&mut self, users: &mut UserBlock, shared: &SharedTable) -> Result<bool> {
        users.run(&self.round, shared, &mut self.released)?;
        Ok(!users.is_empty() && !self.round.is_last())
    }

    /// What a task sends to the driver: sums of weights with what belongs to them, in one value, and decisions.
    pub(super) fn for_driver(&mut self, sums: &[(PartContents, Vec<u8>)]) -> BucketedValues {
        let (mut sent, mut decisions) = (BucketedValues::default(), Vec::new());
        Decisions::push_released(&std::mem::take(&mut self.released), &mut decisions);
        for parts in [sums, &[(PartContents::Decisions, decisions)]] {
            let parts = parts.iter().filter(|(_, bytes)| !bytes.is_empty());
            let value: Vec<u8> = parts.flat_map(|(contents, bytes)| contents.part(bytes)).collect();
            if !value.is_empty() {
                sent.push(TO_DRIVER, value);
            }
        }
        sent
    }
}

/// A packed block: the digests of its shared items, if it has them; the users.
pub(super) fn pack_block(users: &UserBlock, shared: Option<&[Digest]>) -> Vec<u8> {
    let mut packed = Vec::new();
    push_digests(shared, &mut packed);
    users.pack(&mut packed);
    packed
}

/// Read what [`pack_block`] packed. Returns the digests, if there are some.
///
/// # Errors
/// [`dpsel_exact::Error::Internal`] if the bytes are damaged.
pub(super) fn unpack_block(mut packed: &[u8], users: &mut UserBlock) -> Result<Option<Vec<Digest>>> {
    let digests = take_digests(&mut packed)?;
    users.unpack(packed)?;
    Ok(digests)
}
