//! The numbers of users of released items, from rows in scratch.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;

use super::stages::{Collected, Stages};
use crate::accounting::L0Bound;
use crate::contributions::Contributions;
use crate::counting::contribution;
use crate::exchange::{ByDigest, Gather, OnUsers};
use crate::numeric::widths::{codes, index};
use crate::random::{Digest, ReleaseKey};
use crate::scratch::Stored;
use crate::task::CalibratedSelect;
use crate::{Error, Result};

/// Bytes for each counted item: its digest, its place, its sum and its noisy number.
const BYTES: u64 = 96;

/// Adds up what users give to the counted items.
struct Count {
    places: ByDigest<u32>,
    sums: Vec<AtomicU64>,
    limit: L0Bound,
}

impl OnUsers for &Count {
    /// All items of a user are here, so it has one norm for all that are counted.
    fn run(&self, _last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let digests = contributions.vocabulary.digests_from(0..contributions.vocabulary.code_bound());
        let places: Vec<Option<u32>> = digests.iter().map(|item| self.places.get(item).copied()).collect();
        for (start, len) in contributions.starts.iter().zip(&contributions.lens) {
            let held = &contributions.items.as_slice()[*start..][..index((*len).into())];
            let counted = held.iter().filter_map(|item| places[*item as usize]);
            let each = contribution(counted.clone().count() as u64, self.limit);
            for place in counted {
                // At most 2^32 users of one unit each.
                self.sums[place as usize].fetch_add(each, Ordering::Relaxed);
            }
        }
        Ok(Vec::new())
    }
}

/// The noisy numbers of users of these items, if the calibration pays for them. `held` has all rows of every user.
///
/// # Errors
/// Those of scratch; the limit of memory; an interruption.
pub(super) fn noisy_users(
    held: &Stored<i32>,
    items: &[Digest],
    asked: &CalibratedSelect,
    key: &ReleaseKey,
    stages: Stages<'_>,
) -> Result<Option<ByDigest<i64>>> {
    let (Some(counts), Some(noise)) = (asked.request.counts, &asked.calibration.counts) else {
        return Ok(None);
    };
    stages.control.charge_memory(items.len() as u64 * BYTES, "counting the users of released items")?;
    let places: ByDigest<u32> = items.iter().enumerate().map(|(at, item)| (*item, codes(at))).collect();
    if places.len() != items.len() {
        return Err(Error::Internal("an item is counted twice"));
    }
    let sums = items.iter().map(|_| AtomicU64::new(0)).collect();
    let count = Count { places, sums, limit: noise.max_counted_items };
    let nothing = Collected::default();
    stages.run(held, || Ok(Gather::new(&count, key, stages.memory.sizes)), || &nothing)?;
    let sums = items.iter().zip(count.sums).map(|(item, sum)| (*item, sum.into_inner()));
    let users = counts.published(noise.noisy_users(sums, key));
    Ok(Some(items.iter().copied().zip(users).collect()))
}
