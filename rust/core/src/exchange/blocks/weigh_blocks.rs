//! Blocks of users give to their items in the rounds after the first one.

use arrow_array::RecordBatch;

use super::block_users::packed_block;
use super::round::BlockRound;
use super::shared::SharedItems;
use super::users::Users;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    ByDigest, PartContents, PartitionedValues, SharedStates, pack_sums, partitioned_values, take_digest,
    take_u32,
};
use crate::random::Digest;
use crate::{Error, Result};

const OTHER_ITEMS: Error = Error::Internal("the items of a block changed between rounds");

/// The stage that weighs a scored round on blocks, and decides the items that one user alone holds.
#[derive(Debug)]
pub struct WeighBlocks {
    round: BlockRound,
    shared: SharedItems,
    /// The codes of shared items, if blocks have their digests.
    codes: Option<ByDigest<u32>>,
    users: Users,
}

impl WeighBlocks {
    pub(crate) fn new(round: BlockRound, states: SharedStates) -> Self {
        let numbered = |digests: Vec<Digest>| digests.into_iter().zip(0..).collect();
        let codes = states.digests.map(numbered);
        let (shared, users) = (SharedItems::with(states.importances), Users::default());
        Self { round, shared, codes, users }
    }

    /// Read a block. Its shared items have the codes of all tasks then.
    fn read(&mut self, mut block: &[u8]) -> Result<()> {
        let digests = take_u32(&mut block)?.checked_sub(1);
        let (codes, digests) = match (&self.codes, digests) {
            (None, None) => return self.users.unpack(block),
            (Some(codes), Some(digests)) => (codes, digests),
            (Some(_), None) | (None, Some(_)) => return Err(OTHER_ITEMS),
        };
        let mut known = Vec::new();
        for _ in 0..digests {
            known.push(*codes.get(&take_digest(&mut block)?).ok_or(OTHER_ITEMS)?);
        }
        self.users.unpack(block)?;
        self.users.renumber(&known)
    }
}

impl Stage for WeighBlocks {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = PartitionedValues::default();
        for (partition, block) in partitioned_values(&batch)? {
            self.read(block)?;
            if self.round.run(&mut self.users, &mut self.shared)? {
                made.push(partition, packed_block(&self.users, None));
            }
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let sums = pack_sums(self.shared.given());
        self.round.for_driver(PartContents::ByCode, &sums).into_batches()
    }
}
