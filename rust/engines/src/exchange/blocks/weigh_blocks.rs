//! Blocks of users give to their items in the rounds after the first one.

use arrow_array::RecordBatch;
use dpsel_core::rounds::{BlockRound, SharedTable, UserBlock};
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use super::task::{BlockTask, pack_block, unpack_block};
use crate::exchange::stage::Stage;
use crate::exchange::wire::{BucketedValues, ByDigest, PartContents, bucketed_values, pack_sums};

const OTHER_ITEMS: Error = Error::Internal("the items of a block changed between rounds");

/// The stage that weighs a scored round on blocks, and decides the items that one user alone holds.
#[derive(Debug)]
pub struct WeighBlocks {
    task: BlockTask,
    shared: SharedTable,
    /// The slots of shared items, if blocks have their digests.
    slots: Option<ByDigest<u32>>,
    users: UserBlock,
}

impl WeighBlocks {
    /// `items` has the shared items, if blocks have their digests.
    pub(crate) fn new(round: BlockRound, (items, shared): (Option<Vec<Digest>>, SharedTable)) -> Self {
        let slots = items.map(|digests| digests.into_iter().zip(0..).collect());
        Self { task: BlockTask::new(round), shared, slots, users: UserBlock::default() }
    }

    /// Read a block. Its shared items have the slots of all tasks then.
    fn read(&mut self, packed: &[u8]) -> Result<()> {
        match (&self.slots, unpack_block(packed, &mut self.users)?) {
            (None, None) => Ok(()),
            (Some(slots), Some(items)) => {
                let slots = items.iter().map(|item| slots.get(item).copied().ok_or(OTHER_ITEMS));
                self.users.renumber(&slots.collect::<Result<Vec<_>>>()?)
            }
            (Some(_), None) | (None, Some(_)) => Err(OTHER_ITEMS),
        }
    }
}

impl Stage for WeighBlocks {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = BucketedValues::default();
        for (bucket, block) in bucketed_values(&batch)? {
            self.read(block)?;
            if self.task.run(&mut self.users, &self.shared)? {
                made.push(bucket, pack_block(&self.users, None));
            }
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.shared.add_up();
        let sums = pack_sums(self.shared.weights());
        self.task.for_driver(&[(PartContents::ByCode, sums)]).into_batches()
    }
}
