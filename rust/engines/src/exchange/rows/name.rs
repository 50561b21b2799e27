//! The names of released items, looked up in the table.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, Int8Array, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{Contributions, ItemCode, RowOrder};
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
        Self { columns: columns.clone(), key, unnamed: released, left_out, waiting: Batcher::default() }
    }

    fn name(&mut self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        if self.unnamed.is_empty() {
            return Ok(Vec::new());
        }
        let Some(mut rows) = rows_of_one_user(batches, &self.columns, &self.key)? else {
            return Ok(Vec::new());
        };
        if !self.left_out.is_empty() {
            rows.remove(|item| self.left_out.contains(item), |_| false);
        }
        let named = named(&rows, |item| self.unnamed.take(item), &self.key)?;
        // The driver knows the level of each node.
        let columns: Vec<usize> = (0..=self.columns.items.len()).collect();
        let named = named.project(&columns).map_err(|_| MISMATCH)?;
        Ok(if named.num_rows() > 0 { vec![named] } else { vec![] })
    }
}

/// Read the items of some rows, as if all were of one user; `None` if there are no batches.
pub(crate) fn rows_of_one_user(
    batches: Vec<RecordBatch>,
    columns: &Columns,
    key: &ReleaseKey,
) -> Result<Option<Contributions>> {
    // Longer than the name of any item column, so different from all of them.
    let user = format!("user of {}", columns.items.join(" "));
    let with_user = |batch: RecordBatch| {
        let users: ArrayRef = Arc::new(Int8Array::from(vec![0; batch.num_rows()]));
        with_first_column(&batch, &user, users).map_err(|_| MISMATCH)
    };
    let batches = batches.into_iter().map(with_user).collect::<Result<_>>()?;
    read(batches, &Columns { user: user.clone().into(), ..columns.clone() }, &RowOrder::Any, key)
}

/// The wanted items of rows of one user: a column of digests, and their columns.
pub(crate) fn named(
    rows: &Contributions,
    mut is_wanted: impl FnMut(Digest) -> bool,
    key: &ReleaseKey,
) -> Result<RecordBatch> {
    let digests = rows.vocabulary.digests();
    let all = rows.items_by_user().flatten().map(|item| ItemCode(*item));
    let found: Vec<(ItemCode, Digest)> =
        all.map(|item| (item, digests.get(item))).filter(|(_, digest)| is_wanted(*digest)).collect();
    let keys = found.iter().map(|(item, _)| rows.vocabulary.key(*item));
    let items = rows.vocabulary.schema().decode(keys, key)?;
    let digests: BinaryArray = found.iter().map(|(_, item)| Some(item.0.to_le_bytes())).collect();
    with_first_column(&items, DIGEST, Arc::new(digests)).map_err(|_| MISMATCH)
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
