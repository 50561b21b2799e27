//! A task of a scored round on blocks of users.

use dpsel_core::rounds::{BlockRound, PackBlock, Released, SharedTable, UserBlock};
use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;

use crate::exchange::wire::{
    BucketedValues, Decisions, PartContents, TO_DRIVER, push_digest, take_digest, take_u32,
};

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

    /// What a task sends to the driver: sums of weights, and decisions.
    pub(super) fn for_driver(&mut self, contents: PartContents, sums: &[u8]) -> BucketedValues {
        let (mut sent, mut decisions) = (BucketedValues::default(), Vec::new());
        Decisions::push_released(&std::mem::take(&mut self.released), &mut decisions);
        for (contents, bytes) in [(contents, sums), (PartContents::Decisions, &decisions)] {
            if !bytes.is_empty() {
                sent.push(TO_DRIVER, contents.part(bytes));
            }
        }
        sent
    }
}

/// A packed block: the number of the digests of its shared items plus one, or 0 if there are none; the digests; the users.
pub(super) fn pack_block(users: &UserBlock, shared: Option<&[Digest]>) -> Vec<u8> {
    let mut packed = shared.map_or(0, |shared| codes(shared.len() + 1)).to_le_bytes().to_vec();
    shared.into_iter().flatten().for_each(|item| push_digest(*item, &mut packed));
    users.pack(&mut packed);
    packed
}

/// Read what [`pack_block`] packed. Returns the digests, if there are some.
///
/// # Errors
/// [`dpsel_exact::Error::Internal`] if the bytes are damaged.
pub(super) fn unpack_block(mut packed: &[u8], users: &mut UserBlock) -> Result<Option<Vec<Digest>>> {
    let number = take_u32(&mut packed)?.checked_sub(1);
    let digests = |number| (0..number).map(|_| take_digest(&mut packed)).collect::<Result<_>>();
    let digests = number.map(digests).transpose()?;
    users.unpack(packed)?;
    Ok(digests)
}
