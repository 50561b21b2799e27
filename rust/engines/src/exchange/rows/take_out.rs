//! Packed contributions without some items, as if they had never been there. User counts go on as they are: those of an
//! item that nobody has any more change no decision.

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::RowOrder;

use super::encode::Packing;
use super::gather::unpacked;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{BucketedValues, Buckets, ReleasedSet, bucketed_values};

/// The stage that takes items out of packed contributions.
#[derive(Debug)]
pub struct TakeOut {
    pub(crate) key: ReleaseKey,
    pub(crate) items: ReleasedSet,
}

impl Stage for TakeOut {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = BucketedValues::default();
        for (bucket, packed) in bucketed_values(&batch)? {
            if bucket < 0 {
                made.push(bucket, packed.to_vec());
                continue;
            }
            let mut users = unpacked(packed, &self.key, &RowOrder::Any)?;
            users.retain(|item| !self.items.contains(item));
            // The value stays in its bucket, whatever number that has among others.
            let packing = Packing::new(&users, &self.key, Buckets::new(1)?);
            packing.pack(0..packing.users(), |_, packed| {
                made.push(bucket, packed);
                Ok(())
            })?;
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        Ok(Vec::new())
    }
}
