//! The numbers of users or rows of released items, from rows in scratch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;

use super::stages::{Collected, Stages};
use crate::contributions::{Contributions, RowOrder};
use crate::counting::{CountLimit, added, square};
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
    limit: CountLimit,
}

impl Count {
    /// Add to a sum, which stays at the largest number.
    fn add(&self, place: u32, more: u64) {
        let sum = &self.sums[place as usize];
        let more = |sum: u64| Some(sum.saturating_add(more));
        // There is always a next value, so this is no failure.
        let _before = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

impl OnUsers for &Count {
    /// All items of a user are here, so it has one norm for all that are counted.
    fn run(&self, _last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let digests = contributions.vocabulary.digests_from(0..contributions.vocabulary.code_bound());
        let places: Vec<Option<u32>> = digests.iter().map(|item| self.places.get(item).copied()).collect();
        for (start, len) in contributions.starts.iter().zip(&contributions.lens) {
            let held = &contributions.items.as_slice()[*start..][..index((*len).into())];
            // Rows of one item stand side by side.
            let by_item = held.chunk_by(|a, b| a == b);
            let counted =
                by_item.filter_map(|rows| Some((places[rows[0] as usize]?, self.limit.rows(rows.len()))));
            let of_row = self.limit.of_row(counted.clone().map(|(_, rows)| square(rows)).sum());
            for (place, rows) in counted {
                self.add(place, added(rows, of_row));
            }
        }
        Ok(Vec::new())
    }
}

/// The noisy numbers of users or rows of these items, if the calibration pays for them. `held` has all rows of every user.
///
/// # Errors
/// Those of scratch; the limit of memory; an interruption.
pub(super) fn noisy_counts(
    held: &Stored<i32>,
    items: &[Digest],
    asked: &CalibratedSelect,
    key: &ReleaseKey,
    stages: Stages<'_>,
) -> Result<Option<ByDigest<i64>>> {
    let (Some(counts), Some(noise)) = (asked.request.counts, &asked.calibration.counts) else {
        return Ok(None);
    };
    stages
        .control
        .charge_memory(items.len() as u64 * BYTES, "counting the users or rows of released items")?;
    let places: ByDigest<u32> = items.iter().enumerate().map(|(at, item)| (*item, codes(at))).collect();
    if places.len() != items.len() {
        return Err(Error::Internal("an item is counted twice"));
    }
    let sums = items.iter().map(|_| AtomicU64::new(0)).collect();
    let count = Count { places, sums, limit: noise.limit() };
    let (nothing, rows) = (Collected::default(), asked.request.read_order(&RowOrder::Any).into());
    let gather = || Ok(Gather::new(&count, key, stages.memory.sizes).in_order(Arc::clone(&rows)));
    stages.run(held, gather, || &nothing)?;
    let sums = items.iter().zip(count.sums).map(|(item, sum)| (*item, sum.into_inner()));
    let numbers = counts.published(noise.noisy_counts(sums, key));
    Ok(Some(items.iter().copied().zip(numbers).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::L0Bound;

    #[test]
    fn a_sum_stays_at_the_largest_number() {
        let limit = CountLimit::new(L0Bound::new(1).unwrap(), Some(3));
        let count = Count { places: ByDigest::default(), sums: vec![AtomicU64::new(u64::MAX - 7)], limit };
        count.add(0, 5);
        assert_eq!(count.sums[0].load(Ordering::Relaxed), u64::MAX - 2);
        count.add(0, 5);
        assert_eq!(count.sums[0].load(Ordering::Relaxed), u64::MAX);
    }
}
