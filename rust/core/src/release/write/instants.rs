//! Dates and times as text. The encoders of the text formats refuse some of them, or write an error in place of a
//! value.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema};

/// The table with ISO 8601 text in place of dates and times.
///
/// An unknown time zone becomes UTC. ISO 8601 text covers about 260,000 years in both directions. A column with a value
/// beyond them becomes integers: time since 1970 in the column's resolution, as in the other formats.
pub(super) fn as_text(table: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<ArrayRef> = table.columns().iter().map(written).collect::<Result<_, _>>()?;
    let fields = table.schema_ref().fields().iter().zip(&columns);
    let fields: Vec<Field> =
        fields.map(|(field, column)| Field::new(field.name(), column.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// A column as text, or as integers if text cannot hold it.
fn written(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.data_type() {
        DataType::Date32 => text(column).or_else(|_| cast(column, &DataType::Int32)),
        DataType::Date64 => text(column).or_else(|_| cast(column, &DataType::Int64)),
        DataType::Timestamp(unit, zone) => {
            let utc = DataType::Timestamp(*unit, zone.as_ref().map(|_| Arc::from("UTC")));
            text(column).or_else(|_| text(&cast(column, &utc)?)).or_else(|_| cast(column, &DataType::Int64))
        }
        _ => Ok(Arc::clone(column)),
    }
}

fn text(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    cast(column, &DataType::Utf8)
}

/// Casts a column. A value that the type cannot hold is an error, not a null.
fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(column, to, &CastOptions { safe: false, ..CastOptions::default() })
}
