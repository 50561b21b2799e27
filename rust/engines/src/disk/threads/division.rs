//! Buckets that are too large for memory are divided again.

use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::RowOrder;
use dpsel_rows::scratch::{Scratch, Spool, Stored};

use super::stages::{Stages, largest, parts};
use crate::exchange::{Buckets, Packing, unpacked};

/// Contributions in so many buckets that each thread can hold one, and stages that make as many for items. In memory a
/// packed byte takes `held` of them.
///
/// Users are divided by the same bits, more finely. So the new buckets ascend as the old ones do, and all rows of a
/// user stay together. Every value is unpacked and packed by itself.
///
/// # Errors
/// Those of scratch; an interruption.
pub(in crate::disk) fn divided<'a>(
    contributions: Stored,
    (order, held): (&RowOrder, u64),
    key: &ReleaseKey,
    stages: Stages<'a>,
    scratch: &Scratch,
) -> Result<(Stored, Stages<'a>)> {
    let memory = stages.memory.divided(largest(&parts(&contributions)), held);
    if memory.buckets == stages.memory.buckets {
        return Ok((contributions, stages));
    }
    let (stages, spool) = (Stages { memory, ..stages }, Spool::new(scratch)?);
    let buckets = Buckets::new(memory.buckets)?;
    stages.each_value(
        &contributions,
        || stages.writer(&spool),
        |writer, _, packed| {
            let users = unpacked(packed, key, order)?;
            let packing = Packing::new(&users, key, buckets);
            packing.pack(0..packing.users(), |bucket, packed| writer.push(bucket, &packed))
        },
        |mut writer| writer.flush(),
    )?;
    Ok((spool.stored(), stages))
}
