//! Freshly built Arrow columns from words and bytes (law 5).

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Date32Type, Date64Type, Decimal128Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, NullArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray,
    StringViewArray,
};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use dpsel_exact::{Error, Result};

use crate::ingest::columns::{DAY_MILLISECONDS, scale};

/// The error for a key that the columns cannot hold.
pub(super) const CORRUPT: Error = Error::Internal("a stored key does not fit the item columns");

/// A batch of columns with a stated number of rows, which a batch without columns needs.
pub(crate) fn with_rows(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(|_| CORRUPT)
}

/// A column from canonical values, which count time in nanoseconds.
pub(super) fn from_integers(
    data_type: &DataType,
    values: impl Iterator<Item = Option<i128>>,
) -> Result<ArrayRef> {
    let unit = i128::from(scale(data_type));
    let words = values.map(|value| {
        let value = value? / unit;
        match data_type {
            DataType::UInt64 => u64::try_from(value).ok(),
            _ => i64::try_from(value).ok().map(i64::cast_unsigned),
        }
    });
    from_words(data_type, &words.collect::<Option<Vec<_>>>().ok_or(CORRUPT)?)
}

/// A column from the words of its values.
pub(super) fn from_words(data_type: &DataType, words: &[u64]) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Int8 => narrow::<Int8Type>(words)?,
        DataType::Int16 => narrow::<Int16Type>(words)?,
        DataType::Int32 => narrow::<Int32Type>(words)?,
        DataType::Int64 => narrow::<Int64Type>(words)?,
        DataType::UInt8 => narrow::<UInt8Type>(words)?,
        DataType::UInt16 => narrow::<UInt16Type>(words)?,
        DataType::UInt32 => narrow::<UInt32Type>(words)?,
        DataType::UInt64 => Arc::new(PrimitiveArray::<UInt64Type>::from_iter_values(words.iter().copied())),
        DataType::Decimal128(precision, scale) => {
            let values = words.iter().map(|w| i128::from(w.cast_signed()));
            let column = PrimitiveArray::<Decimal128Type>::from_iter_values(values);
            Arc::new(column.with_precision_and_scale(*precision, *scale).map_err(|_| CORRUPT)?)
        }
        DataType::Date32 => narrow::<Date32Type>(words)?,
        DataType::Date64 => {
            let days = words.iter().map(|w| w.cast_signed().checked_mul(DAY_MILLISECONDS));
            let days: Vec<i64> = days.collect::<Option<_>>().ok_or(CORRUPT)?;
            Arc::new(PrimitiveArray::<Date64Type>::from(days))
        }
        DataType::Timestamp(TimeUnit::Second, zone) => instants::<TimestampSecondType>(words, zone.as_ref()),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            instants::<TimestampMillisecondType>(words, zone.as_ref())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            instants::<TimestampMicrosecondType>(words, zone.as_ref())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            instants::<TimestampNanosecondType>(words, zone.as_ref())
        }
        DataType::Boolean => Arc::new(words.iter().map(|w| Some(*w != 0)).collect::<BooleanArray>()),
        DataType::Null => Arc::new(NullArray::new(words.len())),
        _ => return Err(CORRUPT),
    })
}

fn narrow<T: ArrowPrimitiveType>(words: &[u64]) -> Result<ArrayRef>
where
    T::Native: TryFrom<i64>,
{
    let values = words.iter().map(|w| T::Native::try_from(w.cast_signed()).ok());
    let values: Vec<T::Native> = values.collect::<Option<_>>().ok_or(CORRUPT)?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(values)))
}

fn instants<T: ArrowTimestampType>(words: &[u64], zone: Option<&Arc<str>>) -> ArrayRef {
    let values = words.iter().map(|w| w.cast_signed());
    Arc::new(PrimitiveArray::<T>::from_iter_values(values).with_timezone_opt(zone.cloned()))
}

/// A column from the bytes of its values.
pub(super) fn from_bytes(data_type: &DataType, values: &[&[u8]]) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Utf8 => {
            check_offsets(values)?;
            Arc::new(StringArray::from_iter_values(texts(values)?))
        }
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter_values(texts(values)?)),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter_values(texts(values)?)),
        DataType::Binary => {
            check_offsets(values)?;
            Arc::new(BinaryArray::from_iter_values(values))
        }
        DataType::LargeBinary => Arc::new(LargeBinaryArray::from_iter_values(values)),
        DataType::BinaryView => Arc::new(BinaryViewArray::from_iter_values(values)),
        DataType::FixedSizeBinary(size) => {
            let values = values.iter().map(Some);
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *size);
            Arc::new(array.map_err(|_| CORRUPT)?)
        }
        _ => return Err(CORRUPT),
    })
}

fn texts<'a>(values: &[&'a [u8]]) -> Result<Vec<&'a str>> {
    values.iter().map(|v| std::str::from_utf8(v).map_err(|_| CORRUPT)).collect()
}

/// Refuses more than 2 GiB, the most that types with 32-bit offsets hold. Arrow would panic.
fn check_offsets(values: &[&[u8]]) -> Result<()> {
    let limit = i32::MAX.unsigned_abs().into();
    let total: u64 = values.iter().map(|v| v.len() as u64).sum();
    if total > limit {
        return Err(Error::Capacity { what: "bytes of released text in one column", limit });
    }
    Ok(())
}
