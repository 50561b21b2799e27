//! The types of item columns whose source declares none: a function of the released values alone (law 5).
//!
//! Python values and NDJSON have kinds, but no declared types. The integer width that holds all values depends on rows
//! that are not released, and so does the existence of a value. All values of a column have one kind, or the source is
//! refused. So one released value gives the kind of all values. Without a released value the type is text.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::KeyKind;
use dpsel_exact::{Error, Result};

use super::key_columns::with_rows;
use crate::ingest::columns::key_kind;

const FAILED: Error = Error::Internal("released values have no common type");

/// Gives the marked columns the type of their values. The other columns keep their declared types.
///
/// # Errors
/// [`Error::Internal`] if the values do not fit.
pub(super) fn infer_types(batch: RecordBatch, undeclared: &[bool]) -> Result<RecordBatch> {
    if !undeclared.contains(&true) {
        return Ok(batch);
    }
    let (schema, mut columns, rows) = (batch.schema(), batch.columns().to_vec(), batch.num_rows());
    for (column, is_undeclared) in columns.iter_mut().zip(undeclared) {
        if *is_undeclared {
            *column = in_inferred_type(column)?;
        }
    }
    let retyped = |(field, column): (&Arc<Field>, &ArrayRef)| {
        field.as_ref().clone().with_data_type(column.data_type().clone())
    };
    let fields: Vec<Field> = schema.fields().iter().zip(&columns).map(retyped).collect();
    with_rows(Arc::new(Schema::new(fields)), columns, rows)
}

fn in_inferred_type(column: &ArrayRef) -> Result<ArrayRef> {
    if column.logical_null_count() == column.len() {
        return Ok(Arc::new(LargeStringArray::new_null(column.len())));
    }
    match key_kind(column.data_type()).ok_or(FAILED)? {
        KeyKind::Integer => match cast(column, &DataType::Int64)? {
            signed if signed.null_count() == column.null_count() => Ok(signed),
            _ => cast(column, &DataType::UInt64),
        },
        KeyKind::Text => cast(column, &DataType::LargeUtf8),
        KeyKind::Binary => cast(column, &DataType::LargeBinary),
        KeyKind::Boolean | KeyKind::Date | KeyKind::Timestamp | KeyKind::Instant => {
            Ok(ArrayRef::clone(column))
        }
        KeyKind::Composite => Err(FAILED),
    }
}

/// Casts a column. Values that do not fit become null.
fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(column, to).map_err(|_| FAILED)
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, BooleanArray, Int64Array, StringArray, UInt8Array, UInt64Array};

    use super::*;

    fn inferred(column: ArrayRef, undeclared: bool) -> RecordBatch {
        infer_types(RecordBatch::try_from_iter([("item", column)]).unwrap(), &[undeclared]).unwrap()
    }

    fn type_of(column: ArrayRef) -> DataType {
        inferred(column, true).schema().field(0).data_type().clone()
    }

    #[test]
    fn integers_are_signed_if_they_fit() {
        assert_eq!(type_of(Arc::new(UInt64Array::from(vec![0, (1 << 63) - 1]))), DataType::Int64);
        assert_eq!(type_of(Arc::new(UInt64Array::from(vec![0, 1 << 63]))), DataType::UInt64);
        assert_eq!(type_of(Arc::new(UInt8Array::from(vec![1]))), DataType::Int64);
        let large = inferred(Arc::new(UInt64Array::from(vec![u64::MAX, 5])), true);
        assert_eq!(large.column(0).as_ref(), &UInt64Array::from(vec![u64::MAX, 5]));
    }

    #[test]
    fn without_values_every_kind_is_text() {
        let empty: [ArrayRef; 3] = [
            Arc::new(Int64Array::from(Vec::<i64>::new())),
            Arc::new(BooleanArray::from(Vec::<bool>::new())),
            Arc::new(arrow_array::NullArray::new(0)),
        ];
        for column in empty {
            assert_eq!(type_of(Arc::clone(&column)), DataType::LargeUtf8);
            assert_eq!(
                inferred(Arc::clone(&column), false).schema().field(0).data_type(),
                column.data_type()
            );
        }
    }

    #[test]
    fn text_and_binary_have_one_width() {
        assert_eq!(type_of(Arc::new(StringArray::from(vec!["a"]))), DataType::LargeUtf8);
        assert_eq!(type_of(Arc::new(BinaryArray::from_vec(vec![b"a"]))), DataType::LargeBinary);
        assert_eq!(type_of(Arc::new(BooleanArray::from(vec![true]))), DataType::Boolean);
    }
}
