//! The columns of released items, on the driver: from their digests, or from the results of the naming tasks.

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::Schema;
use arrow_select::take::take_record_batch;
use dpsel_core::task::PublicLists;
use dpsel_exact::random::{Digest, Digester, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::read_closed;
use dpsel_rows::ingest::{self, Columns, ItemSchema};

use crate::exchange::rows::{DIGEST, one_thread};
use crate::exchange::wire::ByDigest;

const MISMATCH: Error = Error::Internal("named items do not fit together");

/// Whether the items of a table have to be looked up in it. Items of integers and the like need not: their digests are
/// permuted values.
///
/// # Errors
/// As for the schema of a table.
pub(super) fn are_looked_up(columns: &Columns, schema: &Schema) -> Result<bool> {
    Ok(ingest::item_schema(schema, columns)?.integer_kind().is_none())
}

/// The items that naming tasks found, and all items above them, without those of a list.
///
/// # Errors
/// [`Error::Internal`] for columns that are none of the table's.
pub(super) fn nodes_of(
    found: &[RecordBatch],
    (schema, columns): (&ItemSchema, &Columns),
    lists: &PublicLists,
    key: &ReleaseKey,
) -> Result<(Vec<Digest>, RecordBatch)> {
    let (_, items) = put_together(found, schema)?;
    read_closed(items, columns, key, &one_thread())?.named(|item| !lists.have(item), key)
}

/// The columns of these items, in their order. `named` holds the results of all naming tasks. It is used where digests do
/// not determine the items.
///
/// # Errors
/// [`Error::Source`] if the names are those of other items; [`Error::Internal`] for digests or columns that are none of
/// the table's.
pub(super) fn items_of(
    digests: &[Digest],
    named: &[RecordBatch],
    schema: &ItemSchema,
    key: &ReleaseKey,
) -> Result<RecordBatch> {
    if schema.integer_kind().is_some() {
        return of_digests(digests, schema, key);
    }
    in_order(digests, put_together(named, schema)?)
}

/// The columns of items that their digests determine.
///
/// # Errors
/// [`Error::Internal`] for digests that are none of the table's.
pub(crate) fn of_digests(digests: &[Digest], schema: &ItemSchema, key: &ReleaseKey) -> Result<RecordBatch> {
    let kind = schema.integer_kind().ok_or(MISMATCH)?;
    let values = Digester::new(key, Purpose::ItemDigest).integers_of(kind, digests).ok_or(MISMATCH)?;
    schema.decode_integers(&values)
}

/// Put named items into the order of these digests.
///
/// # Errors
/// [`Error::Source`] if they are other items: a filter of released items is exact on the first read only, and an item
/// that is new in the second read may pass.
pub(crate) fn in_order(
    digests: &[Digest],
    (found, items): (Vec<Digest>, RecordBatch),
) -> Result<RecordBatch> {
    let rows: ByDigest<u32> = found.into_iter().zip(0..).collect();
    let order: Option<Vec<u32>> = digests.iter().map(|item| rows.get(item).copied()).collect();
    let order = order.filter(|order| order.len() == items.num_rows()).ok_or_else(changed)?;
    take_record_batch(&items, &UInt32Array::from(order))
        .map_err(|_| Error::Internal("the named items cannot be put in order"))
}

/// Join the digests and names that the naming tasks found.
pub(super) fn put_together(named: &[RecordBatch], schema: &ItemSchema) -> Result<(Vec<Digest>, RecordBatch)> {
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
