//! All lists of a series in one table.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_select::concat::concat;
use dpsel_exact::{Error, Result};

use crate::release::{Beside, publish_columns};

const FAILED: Error = Error::Internal("the lists of a series do not fit together");

/// The items of some lists in the order of their own values, with the types of the last list, which are the widest.
///
/// # Errors
/// [`Error::Internal`] if they are not the lists of one series, or there are none.
pub fn all_items(lists: &[RecordBatch]) -> Result<RecordBatch> {
    let schema = lists.last().ok_or(FAILED)?.schema();
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let column = |at: usize| {
        let widened = |list: &RecordBatch| -> Result<ArrayRef> {
            let column = list.columns().get(at).ok_or(FAILED)?;
            cast_with_options(column, schema.field(at).data_type(), &options).map_err(|_| FAILED)
        };
        let columns = lists.iter().map(widened).collect::<Result<Vec<_>>>()?;
        let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        concat(&columns).map_err(|_| FAILED)
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<_>>()?;
    publish_columns(&RecordBatch::try_new(schema, columns).map_err(|_| FAILED)?, Beside::default())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int8Array, Int64Array, StringArray};

    use super::*;

    fn list(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([("item", column, true)]).unwrap()
    }

    #[test]
    fn lists_are_one_table_in_the_widest_type() {
        let lists =
            [list(Arc::new(Int8Array::from(vec![7, 9]))), list(Arc::new(Int64Array::from(vec![8, 1 << 40])))];
        assert_eq!(all_items(&lists).unwrap(), list(Arc::new(Int64Array::from(vec![7, 8, 9, 1 << 40]))));
        assert_eq!(all_items(&lists[..1]).unwrap(), lists[0]);
    }

    #[test]
    fn lists_of_other_kinds_are_an_error() {
        let lists = [list(Arc::new(StringArray::from(vec!["a"]))), list(Arc::new(Int64Array::from(vec![8])))];
        assert!(all_items(&lists).is_err());
        assert!(all_items(&[]).is_err());
    }
}
