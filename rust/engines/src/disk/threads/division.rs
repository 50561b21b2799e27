//! Buckets that are too large for memory are divided again.

use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::scratch::{Scratch, Spool, Stored};

use super::stages::{Stages, largest, parts};
use crate::exchange::{Buckets, Dictionaries, packed_again};

/// Contributions in so many buckets that each thread can hold one, and stages that make as many for items. In memory a
/// packed byte takes `held` of them.
///
/// Users are divided by the same bits, more finely. So the new buckets ascend as the old ones do, and all rows of a
/// user stay together. Every value is unpacked and packed by itself, with what stands above its items if some do.
///
/// # Errors
/// Those of scratch; an interruption.
pub(in crate::disk) fn divided<'a>(
    contributions: Stored,
    held: u64,
    key: &ReleaseKey,
    stages: Stages<'a>,
    scratch: &Scratch,
) -> Result<(Stored, Stages<'a>)> {
    let memory = stages.memory.divided(largest(&parts(&contributions)), held);
    if memory.buckets == stages.memory.buckets {
        return Ok((contributions, stages));
    }
    let (stages, spool) = (Stages { memory, ..stages }, Spool::new(scratch)?);
    let (buckets, dictionaries) = (Buckets::new(memory.buckets)?, Dictionaries::new(key));
    stages.each_value(
        &contributions,
        || stages.writer(&spool),
        |writer, _, packed| {
            let (value, bucket) = ((packed, &dictionaries), |user| buckets.of(user));
            packed_again(value, |_| false, bucket, |bucket, packed| writer.push(bucket, &packed))
        },
        |mut writer| writer.flush(),
    )?;
    Ok((spool.stored(), stages))
}
