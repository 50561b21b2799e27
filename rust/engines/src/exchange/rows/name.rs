//! The names of released items, looked up in the table.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::read_items;
use dpsel_rows::ingest::Columns;

use super::batcher::{Batcher, one_thread};
use crate::exchange::stage::Stage;
use crate::exchange::wire::ReleasedSet;

/// Column of the digest, the first one. The item columns follow.
pub(crate) const DIGEST: &str = "digest";

const MISMATCH: Error = Error::Internal("names and digests do not fit together");

/// The stage that looks up names. The table need not have its user column, since names do not depend on users.
#[derive(Debug)]
pub struct Name {
    columns: Columns,
    key: ReleaseKey,
    /// The released items. Those of a list are removed once the task has named them.
    unnamed: ReleasedSet,
    left_out: ReleasedSet,
    waiting: Batcher,
}

impl Name {
    /// `left_out` has the items that were left out when the table was first read: a filter knows none of them.
    pub(crate) fn new(
        columns: &Columns,
        key: ReleaseKey,
        released: ReleasedSet,
        left_out: ReleasedSet,
    ) -> Self {
        Self { columns: columns.clone(), key, unnamed: released, left_out, waiting: Batcher::default() }
    }

    fn name(&mut self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        if self.unnamed.is_empty() {
            return Ok(Vec::new());
        }
        let Some(mut rows) = read_items(batches, &self.columns, &self.key, &one_thread())? else {
            return Ok(Vec::new());
        };
        if !self.left_out.is_empty() {
            rows.remove(|item| self.left_out.contains(item), |_| false);
        }
        let (digests, items) = rows.named(|item| self.unnamed.take(item), &self.key)?;
        if digests.is_empty() {
            return Ok(Vec::new());
        }
        let digests: BinaryArray = digests.iter().map(|item| Some(item.0.to_le_bytes())).collect();
        // Without the levels of nodes, which the driver knows.
        let columns = self.columns.items.iter().zip(items.columns());
        let columns = columns.map(|(name, column)| (name.as_str(), ArrayRef::clone(column), true));
        let all = [(DIGEST, Arc::new(digests) as ArrayRef, false)].into_iter().chain(columns);
        Ok(vec![RecordBatch::try_from_iter_with_nullable(all).map_err(|_| MISMATCH)?])
    }
}

impl Stage for Name {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        self.waiting.push(batch).map_or(Ok(Vec::new()), |batches| self.name(batches))
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let batches = self.waiting.take();
        self.name(batches)
    }
}
