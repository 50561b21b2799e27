//! All lists of a series in one table.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::are_of_one_kind;

use crate::release::{Beside, exactly, has_values, publish_columns};

const FAILED: Error = Error::Internal("the lists of a series do not fit together");

/// The items of some lists in the order of their own values, each column in the last of its types that holds all. Types are
/// those of the last list if nothing came out.
///
/// # Errors
/// [`Error::Internal`] if they are not the lists of one series, or there are none.
pub fn all_items(lists: &[RecordBatch]) -> Result<RecordBatch> {
    let last = lists.last().ok_or(FAILED)?.schema();
    let mut fields: Vec<Field> = last.fields().iter().map(|field| field.as_ref().clone()).collect();
    let mut columns = Vec::with_capacity(fields.len());
    for (at, field) in fields.iter_mut().enumerate() {
        let of_lists = lists.iter().map(|list| list.columns().get(at).ok_or(FAILED));
        let column = in_one_type(&of_lists.collect::<Result<Vec<_>>>()?).ok_or(FAILED)?;
        *field = field.clone().with_data_type(column.data_type().clone());
        columns.push(column);
    }
    let items = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|_| FAILED)?;
    publish_columns(&items, Beside::default())
}

/// The columns in one. Without values a column is text where no type is declared, so it has no say in the kind.
fn in_one_type(columns: &[&ArrayRef]) -> Option<ArrayRef> {
    let valued: Vec<&ArrayRef> = columns.iter().copied().filter(|column| has_values(column)).collect();
    if valued.is_empty() {
        return columns.last().map(|last| ArrayRef::clone(last));
    }
    let in_type = |to: &DataType| {
        let cast =
            |column: &&ArrayRef| exactly(column, to).filter(|_| are_of_one_kind(column.data_type(), to));
        let columns: Vec<ArrayRef> = valued.iter().map(cast).collect::<Option<_>>()?;
        concat(&columns.iter().map(AsRef::as_ref).collect::<Vec<_>>()).ok()
    };
    columns.iter().rev().find_map(|column| in_type(column.data_type()))
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, Int8Array, Int64Array, LargeStringArray, StringArray, UInt64Array};

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
    fn a_list_without_items_says_nothing_of_the_others() {
        let texts = || list(Arc::new(LargeStringArray::from(Vec::<&str>::new())));
        let bytes = list(Arc::new(BinaryArray::from_vec(vec![b"\xff"])));
        assert_eq!(all_items(&[texts(), bytes.clone(), texts()]).unwrap(), bytes);
        let (large, small) = (UInt64Array::from(vec![1 << 63]), Int64Array::from(vec![7]));
        let both = list(Arc::new(UInt64Array::from(vec![7, 1 << 63])));
        let lists = [list(Arc::new(large)), list(Arc::new(small)), texts()];
        assert_eq!(all_items(&lists).unwrap(), both);
        assert_eq!(all_items(&[texts(), texts()]).unwrap(), texts());
    }

    #[test]
    fn lists_of_other_kinds_are_an_error() {
        let lists = [list(Arc::new(StringArray::from(vec!["a"]))), list(Arc::new(Int64Array::from(vec![8])))];
        assert!(all_items(&lists).is_err());
        assert!(all_items(&[]).is_err());
    }
}
