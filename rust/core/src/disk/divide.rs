//! Partitions that are too large for memory are divided again.

use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::RowOrder;
use dpsel_rows::scratch::{Scratch, Spool, Stored};

use super::memory::Memory;
use super::stages::{Stages, largest, parts};
use crate::exchange::{Packing, Partitions, unpacked};

/// Contributions in so many partitions that each thread can hold one, and stages that make as many for items. `needed`
/// divides the memory for a partition of so many bytes.
///
/// Users are divided by the same bits, more finely. So the new partitions ascend as the old ones do, and all rows of a
/// user stay together. Every value is unpacked and packed by itself.
///
/// # Errors
/// Those of scratch; an interruption.
pub(super) fn divided<'a>(
    contributions: Stored,
    (order, needed): (&RowOrder, impl Fn(Memory, u64) -> Memory),
    key: &ReleaseKey,
    stages: Stages<'a>,
    scratch: &Scratch,
) -> Result<(Stored, Stages<'a>)> {
    let memory = needed(stages.memory, largest(&parts(&contributions)));
    if memory.partitions == stages.memory.partitions {
        return Ok((contributions, stages));
    }
    let (stages, spool) = (Stages { memory, ..stages }, Spool::new(scratch)?);
    let partitions = Partitions::new(memory.partitions)?;
    stages.each_value(
        &contributions,
        || stages.writer(&spool),
        |writer, _, packed| {
            let Some(users) = unpacked(packed, key, order.clone())? else { return Ok(()) };
            let packing = Packing::new(&users, key, partitions);
            packing.pack(0..packing.users(), |partition, packed| writer.push(partition, &packed))
        },
        |mut writer| writer.flush(),
    )?;
    Ok((spool.stored(), stages))
}
