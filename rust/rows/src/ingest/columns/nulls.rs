//! Columns without their null rows.

use arrow_array::{Array, ArrayRef, BooleanArray};
use dpsel_exact::{Error, Result};

/// The rows of a column that are not null. A column without nulls is returned as it is; otherwise a filtered copy and
/// its mask.
///
/// # Errors
/// [`Error::Internal`] if arrow cannot filter the type.
pub(in crate::ingest) fn drop_nulls(array: &ArrayRef) -> Result<(ArrayRef, Option<BooleanArray>)> {
    let Some(nulls) = array.logical_nulls().filter(|n| n.null_count() > 0) else {
        return Ok((ArrayRef::clone(array), None));
    };
    let valid = BooleanArray::new(nulls.inner().clone(), None);
    Ok((filter(array, &valid)?, Some(valid)))
}

/// The rows of a column for which a mask is true.
pub(in crate::ingest) fn filter(array: &ArrayRef, mask: &BooleanArray) -> Result<ArrayRef> {
    arrow_select::filter::filter(array, mask)
        .map_err(|_| Error::Internal("rows of a column cannot be filtered"))
}
