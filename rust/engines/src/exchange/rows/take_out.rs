//! Packed contributions without some items, as if they had never been there. User counts go on as they are: those of an
//! item that nobody has any more change no decision.

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::Digest;

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

/// The users of a packed value without some items, packed again: a value for each bucket of users that have items left.
///
/// # Errors
/// [`dpsel_exact::Error::Internal`] if it is damaged; those of `each`.
pub(crate) fn packed_again(
    (value, dictionaries): (&[u8], &Dictionaries),
    is_out: impl Fn(Digest) -> bool,
    bucket: impl Fn(Digest) -> i32,
    mut each: impl FnMut(i32, Vec<u8>) -> Result<()>,
) -> Result<()> {
    let (mut items, mut left, mut of_users) = (Vec::new(), Vec::new(), Vec::new());
    let mut users = PackedUsers::unpack(value, dictionaries, &mut items)?;
    let is_out: Vec<bool> = items.iter().map(|item| is_out(*item)).collect();
    let mut lines = users.lines();
    if let Some(lines) = &mut lines {
        lines.remove(is_out.clone());
    }
    users.each(|user, places| {
        let first = left.len();
        left.extend(places.iter().filter(|place| !is_out[**place as usize]));
        of_users.push((bucket(user), user, first..left.len()));
        Ok(())
    })?;
    of_users.sort_by_key(|(bucket, ..)| *bucket);
    let digest = |place: u32| items[place as usize];
    let mut packer = Packer::new((digest, lines.as_ref()), items.len(), dictionaries);
    for of_bucket in of_users.chunk_by(|a, b| a.0 == b.0) {
        for (_, user, places) in of_bucket.iter().filter(|(.., places)| !places.is_empty()) {
            packer.add_user(*user, &left[places.clone()]);
        }
        packer.take().map_or(Ok(()), |packed| each(of_bucket[0].0, packed))?;
    }
    Ok(())
}

impl Stage for TakeOut {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = BucketedValues::default();
        for (bucket, packed) in bucketed_values(&batch)? {
            if bucket < 0 {
                made.push(bucket, packed.to_vec());
                continue;
            }
            let is_out = |item| self.items.contains(item);
            packed_again(
                (packed, &self.dictionaries),
                is_out,
                |_| bucket,
                |bucket, rest| {
                    made.push(bucket, rest);
                    Ok(())
                },
            )?;
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        Ok(Vec::new())
    }
}
