//! Dates and times as text. The encoders of the text formats refuse some of them, or write an error in place of a
//! value.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};

/// The table with ISO 8601 text in place of dates and times.
///
/// An unknown time zone becomes UTC. ISO 8601 text covers about 260,000 years in both directions. A column with a value
/// beyond them becomes integers: time since 1970 in the column's resolution, as in the other formats.
pub(super) fn as_text(table: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    with_columns(table, written)
}

/// The table with milliseconds in place of seconds, and days in place of dates in milliseconds.
pub(super) fn known_to_parquet(table: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    with_columns(table, |column| match column.data_type() {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            let finer = cast(column, &DataType::Timestamp(TimeUnit::Millisecond, zone.clone()));
            // Otherwise: a time beyond 64 bits of milliseconds, which stays a number.
            Ok(finer.unwrap_or_else(|_| Arc::clone(column)))
        }
        DataType::Date64 => {
            let days = cast(column, &DataType::Date32).ok();
            let exact = |days: &ArrayRef| cast(days, &DataType::Date64).is_ok_and(|back| &back == column);
            // Otherwise: a date beyond 32 bits of days, which stays a number.
            Ok(days.filter(exact).unwrap_or_else(|| Arc::clone(column)))
        }
        _ => Ok(Arc::clone(column)),
    })
}

/// The table with what is made of each column.
fn with_columns(
    table: &RecordBatch,
    made: impl Fn(&ArrayRef) -> Result<ArrayRef, ArrowError>,
) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<ArrayRef> = table.columns().iter().map(made).collect::<Result<_, _>>()?;
    let fields = table.schema_ref().fields().iter().zip(&columns);
    let fields: Vec<Field> = fields
        .map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()))
        .collect();
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
