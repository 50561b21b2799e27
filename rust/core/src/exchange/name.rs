//! The names of released items, looked up in the table.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, Int8Array, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema};

use super::Stage;
use super::encode::Waiting;
use super::known::Known;
use super::plan::{Plan, read};
use crate::contributions::ItemCode;
use crate::ingest::{self, Columns, ItemSchema};
use crate::random::{Digest, Digester, Purpose, ReleaseKey};
use crate::{Error, Result};

/// Column of the digest, the first one; the item columns follow.
const DIGEST: &str = "digest";

const MISMATCH: Error = Error::Internal("named items do not fit together");

/// See the module. The table need not have its user column here: nothing depends on who has an item.
#[derive(Debug)]
pub struct Name {
    plan: Plan,
    columns: Columns,
    /// The released items; those of a list go when the task has named them.
    unnamed: Known,
    waiting: Waiting,
}

impl Name {
    pub(super) fn new(plan: Plan, released: Known) -> Self {
        let given = &plan.work().columns;
        // Longer than the name of any item column, so it is none of them.
        let user = format!("user of {}", given.items.join(" "));
        let columns = Columns { user, ..given.clone() };
        Self { plan, columns, unnamed: released, waiting: Waiting::default() }
    }

    fn name(&mut self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        if self.unnamed.is_empty() {
            return Ok(Vec::new());
        }
        let of_one_user = batches.into_iter().map(|batch| self.with_user(&batch)).collect::<Result<_>>()?;
        let Some(contributions) = read(of_one_user, &self.columns, self.plan.key())? else {
            return Ok(Vec::new());
        };
        let vocabulary = &contributions.vocabulary;
        let all = vocabulary.digests_from(0..vocabulary.code_bound()).into_iter().enumerate();
        let found: Vec<(usize, Digest)> = all.filter(|(_, item)| self.unnamed.take(*item)).collect();
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let keys = found.iter().map(|(code, _)| vocabulary.key(ItemCode::from_index(*code)));
        let items = vocabulary.schema().decode(keys)?;
        let digests: BinaryArray = found.iter().map(|(_, item)| Some(item.0.to_le_bytes())).collect();
        Ok(vec![with_first_column(&items, DIGEST, Arc::new(digests)).map_err(|_| MISMATCH)?])
    }

    fn with_user(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let users: ArrayRef = Arc::new(Int8Array::from(vec![0; batch.num_rows()]));
        with_first_column(batch, &self.columns.user, users).map_err(|_| MISMATCH)
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

/// Whether the items of a table have to be looked up in it. Those of integers and the like need not: their digests are
/// permuted values.
///
/// # Errors
/// As for the schema of a table.
pub(super) fn are_looked_up(columns: &Columns, schema: &Schema) -> Result<bool> {
    Ok(ingest::item_schema(schema, columns)?.integer_kind().is_none())
}

/// The columns of items, and their digests in the order of the rows. What all naming tasks found is asked where the digests
/// alone do not tell.
pub(super) fn items_of(
    digests: Vec<Digest>,
    named: &[RecordBatch],
    schema: &ItemSchema,
    key: &ReleaseKey,
) -> Result<(Vec<Digest>, RecordBatch)> {
    let Some(kind) = schema.integer_kind() else {
        return put_together(named, schema);
    };
    let values = Digester::new(key, Purpose::ItemDigest).integers_of(kind, &digests).ok_or(MISMATCH)?;
    Ok((digests, schema.decode_integers(&values)?))
}

/// What all naming tasks found.
fn put_together(named: &[RecordBatch], schema: &ItemSchema) -> Result<(Vec<Digest>, RecordBatch)> {
    let schema = schema.arrow_schema();
    let mut digests = Vec::new();
    let mut items = vec![RecordBatch::new_empty(schema.clone())];
    for batch in named {
        let column = batch.column_by_name(DIGEST).and_then(|column| column.as_binary_opt::<i32>());
        for digest in column.ok_or(MISMATCH)? {
            let digest = digest.and_then(|bytes| bytes.try_into().ok()).ok_or(MISMATCH)?;
            digests.push(Digest(u128::from_le_bytes(digest)));
        }
        let columns = batch.columns()[1..].to_vec();
        items.push(RecordBatch::try_new(schema.clone(), columns).map_err(|_| MISMATCH)?);
    }
    Ok((digests, arrow_select::concat::concat_batches(&schema, &items).map_err(|_| MISMATCH)?))
}

/// The two reads of the table do not fit together.
pub(super) fn changed() -> Error {
    Error::Source(
        "the second read of the table has other items than the first, so its rows changed between the two; \
         write the table out first, and select from what was written"
            .into(),
    )
}
