//! Packed contributions become the items that pass the filter of a released set, sent by bucket of items.
//!
//! They travel as weights of 0. [`FalsePositives`](crate::exchange::FalsePositives) uses them.

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    Buckets, Dictionaries, PackedUsers, ReleasedSet, bucketed_values, pack_by_bucket,
};

/// Items that are put together before they are sent.
const HELD: usize = 1 << 22;

/// The stage that finds the distinct items of the table that pass a filter.
#[derive(Debug)]
pub struct FilterCandidates {
    buckets: Buckets,
    dictionaries: Dictionaries,
    filter: ReleasedSet,
    /// Those of one value.
    items: Vec<Digest>,
    passed: Vec<Digest>,
}

impl FilterCandidates {
    pub(crate) fn new(buckets: Buckets, dictionaries: Dictionaries, filter: ReleasedSet) -> Self {
        Self { buckets, dictionaries, filter, items: Vec::new(), passed: Vec::new() }
    }

    fn put_together(&mut self) {
        self.passed.sort_unstable();
        self.passed.dedup();
    }

    fn send(&mut self) -> Result<Vec<RecordBatch>> {
        self.put_together();
        let items = self.passed.drain(..).map(|item| (item, 0));
        pack_by_bucket(items.collect(), self.buckets).into_batches()
    }
}

impl Stage for FilterCandidates {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (_, packed) in bucketed_values(&batch)? {
            PackedUsers::unpack(packed, &self.dictionaries, &mut self.items)?;
            self.passed.extend(self.items.drain(..).filter(|item| self.filter.contains(*item)));
            if self.passed.len() >= HELD {
                self.put_together();
            }
        }
        if self.passed.len() < HELD / 2 { Ok(Vec::new()) } else { self.send() }
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.send()
    }
}
