//! The order of the released rows: by their own values.

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_schema::DataType;
use dpsel_exact::{Error, Result};

use super::key_columns::with_rows;

/// Sorts rows by the columns from left to right. Also returns the former position of each row of the result.
///
/// # Errors
/// [`dpsel_exact::Error::Internal`] if a type has no order.
pub fn sorted(batch: &RecordBatch) -> Result<(RecordBatch, Vec<u32>)> {
    const FAILED: Error = Error::Internal("released items cannot be sorted");
    let by: Vec<SortColumn> = batch
        .columns()
        .iter()
        .filter(|c| c.data_type() != &DataType::Null)
        .map(|c| SortColumn { values: ArrayRef::clone(c), options: None })
        .collect();
    let rows = u32::try_from(batch.num_rows()).map_err(|_| FAILED)?;
    let order: UInt32Array = match by.as_slice() {
        [] => (0..rows).collect(),
        _ => lexsort_to_indices(&by, None).map_err(|_| FAILED)?,
    };
    let take = |c: &ArrayRef| arrow_select::take::take(c, &order, None).map_err(|_| FAILED);
    let columns = batch.columns().iter().map(take).collect::<Result<Vec<_>>>()?;
    let sorted = with_rows(batch.schema(), columns, batch.num_rows())?;
    Ok((sorted, order.values().to_vec()))
}
