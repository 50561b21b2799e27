//! The names of released items, looked up in the table.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, Int8Array, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{ItemCode, RowOrder};
use dpsel_rows::ingest::Columns;

use super::batcher::{Batcher, read};
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
        // Longer than the name of any item column, so different from all of them.
        let user = format!("user of {}", columns.items.join(" ")).into();
        let columns = Columns { user, ..columns.clone() };
        Self { columns, key, unnamed: released, left_out, waiting: Batcher::default() }
    }

    /// Whether an item is to be named, once if it is one of a list.
    fn takes(&mut self, item: Digest) -> bool {
        !self.left_out.contains(item) && self.unnamed.take(item)
    }

    fn name(&mut self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        if self.unnamed.is_empty() {
            return Ok(Vec::new());
        }
        let of_one_user = batches.into_iter().map(|batch| self.with_user(&batch)).collect::<Result<_>>()?;
        let Some(contributions) = read(of_one_user, &self.columns, &RowOrder::Any, &self.key)? else {
            return Ok(Vec::new());
        };
        let vocabulary = &contributions.vocabulary;
        let all = vocabulary.digests_from(0..vocabulary.code_bound()).into_iter().enumerate();
        let found: Vec<(usize, Digest)> = all.filter(|(_, item)| self.takes(*item)).collect();
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let keys = found.iter().map(|(code, _)| vocabulary.key(ItemCode::from_index(*code)));
        let items = vocabulary.schema().decode(keys, &self.key)?;
        let digests: BinaryArray = found.iter().map(|(_, item)| Some(item.0.to_le_bytes())).collect();
        Ok(vec![with_first_column(&items, DIGEST, Arc::new(digests)).map_err(|_| MISMATCH)?])
    }

    /// The rows, all of the same user.
    fn with_user(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let users: ArrayRef = Arc::new(Int8Array::from(vec![0; batch.num_rows()]));
        // One column stands in for the users.
        let name = self.columns.user.names().first().ok_or(MISMATCH)?;
        with_first_column(batch, name, users).map_err(|_| MISMATCH)
    }
}

fn with_first_column(batch: &RecordBatch, name: &str, column: ArrayRef) -> Result<RecordBatch, ArrowError> {
    let first = Field::new(name, column.data_type().clone(), false);
    let schema = batch.schema();
    let fields = [Arc::new(first)].into_iter().chain(schema.fields().iter().cloned());
    let columns = [column].into_iter().chain(batch.columns().iter().cloned()).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns)
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
