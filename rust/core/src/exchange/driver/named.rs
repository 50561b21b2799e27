//! The columns of released items, on the driver: from their digests, or from the results of the naming tasks.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::Schema;

use crate::exchange::rows::DIGEST;
use crate::ingest::{self, Columns, ItemSchema};
use crate::random::{Digest, Digester, Purpose, ReleaseKey};
use crate::{Error, Result};

const MISMATCH: Error = Error::Internal("named items do not fit together");

/// Whether the items of a table have to be looked up in it. Items of integers and the like need not: their digests are
/// permuted values.
///
/// # Errors
/// As for the schema of a table.
pub(super) fn are_looked_up(columns: &Columns, schema: &Schema) -> Result<bool> {
    Ok(ingest::item_schema(schema, columns)?.integer_kind().is_none())
}

/// The columns of items, and their digests in the order of the rows. `named` holds the results of all naming tasks. It
/// is used where digests do not determine the items.
///
/// # Errors
/// [`Error::Internal`] for digests or columns that are none of the table's.
pub(crate) fn items_of(
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

/// Join the digests and names that the naming tasks found.
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

/// The error for two reads of the table that do not fit together.
pub(super) fn changed() -> Error {
    Error::Source(
        "the second read of the table has other items than the first, so its rows changed between the two; \
         write the table out first, and select from what was written"
            .into(),
    )
}
