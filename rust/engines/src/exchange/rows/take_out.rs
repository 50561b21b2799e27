//! Packed contributions without some items, as if they had never been there. User counts go on as they are: those of an
//! item that nobody has any more change no decision.

use arrow_array::RecordBatch;
use dpsel_exact::Result;

use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    BucketedValues, Dictionaries, PackedUsers, Packer, ReleasedSet, bucketed_values,
};

/// The stage that takes items out of packed contributions. With an item all items above it are among these.
#[derive(Debug)]
pub struct TakeOut {
    pub(crate) dictionaries: Dictionaries,
    pub(crate) items: ReleasedSet,
}

impl TakeOut {
    /// A packed value without the items; `None` if nothing is left.
    fn rest_of(&self, value: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut items = Vec::new();
        let mut users = PackedUsers::unpack(value, &self.dictionaries, &mut items)?;
        let is_out: Vec<bool> = items.iter().map(|item| self.items.contains(*item)).collect();
        let mut lines = users.lines();
        if let Some(lines) = &mut lines {
            lines.remove(is_out.clone());
        }
        let digest = |place: u32| items[place as usize];
        let mut packer = Packer::new((digest, lines.as_ref()), items.len(), &self.dictionaries);
        let mut left = Vec::new();
        users.each(|user, places| {
            left.clear();
            left.extend(places.iter().filter(|place| !is_out[**place as usize]));
            if !left.is_empty() {
                packer.add_user(user, &left);
            }
            Ok(())
        })?;
        Ok(packer.take())
    }
}

impl Stage for TakeOut {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = BucketedValues::default();
        for (bucket, packed) in bucketed_values(&batch)? {
            let rest = if bucket < 0 { Some(packed.to_vec()) } else { self.rest_of(packed)? };
            if let Some(rest) = rest {
                made.push(bucket, rest);
            }
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        Ok(Vec::new())
    }
}
