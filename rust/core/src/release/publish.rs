//! Fresh columns with the released items alone.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::{Field, Schema};

use crate::ingest::sorted;
use crate::random::ReleaseKey;
use crate::rounds::Selected;
use crate::weighting::UNIT;
use crate::{Error, Result};

/// Name of the column of noisy weights.
pub const WEIGHT_COLUMN: &str = "weight";

/// Copies the selected items, and nothing else, into fresh columns, sorted by their own values (law 5).
///
/// A last column holds the noisy weights (f64) if they were asked for.
pub(crate) fn publish(selected: &Selected, with_weights: bool, key: &ReleaseKey) -> Result<RecordBatch> {
    let vocabulary = selected.vocabulary();
    let keys = selected.items.iter().map(|&(item, _)| vocabulary.key(item));
    let weights: Vec<i64> = selected.items.iter().map(|&(_, weight)| weight).collect();
    publish_columns(&vocabulary.schema().decode(keys, key)?, &weights, with_weights)
}

/// Sorts freshly built columns of items, each with its noisy weight in integer units.
pub(crate) fn publish_columns(
    items: &RecordBatch,
    weights: &[i64],
    with_weights: bool,
) -> Result<RecordBatch> {
    let (items, order) = sorted(items)?;
    if !with_weights {
        return Ok(items);
    }
    let weights = order.iter().map(|&i| weights[i as usize] as f64 / UNIT as f64);
    with_column(&items, WEIGHT_COLUMN, Arc::new(Float64Array::from_iter_values(weights)))
}

/// The batch with one more column at its end.
pub(crate) fn with_column(batch: &RecordBatch, name: &str, column: ArrayRef) -> Result<RecordBatch> {
    let field = Field::new(name, column.data_type().clone(), false);
    let fields =
        batch.schema().fields().iter().map(|f| f.as_ref().clone()).chain([field]).collect::<Vec<_>>();
    let columns = batch.columns().iter().cloned().chain([column]).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|_| Error::Internal("the released columns do not fit together"))
}
