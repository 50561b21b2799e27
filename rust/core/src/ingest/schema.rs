//! The types of the item columns: how keys become Arrow columns again.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, NullArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray,
    StringViewArray, UInt32Array,
};
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::columns::{DAY_MILLISECONDS, key_kind, scale, value_type};
use super::{composite, found};
use crate::contributions::{KeyLayout, KeyStore};
use crate::random::KeyKind;
use crate::{Error, Result};

const CORRUPT: Error = Error::Internal("a stored key does not fit the item columns");

/// Types and names of the item columns as they came in.
#[derive(Debug, Clone)]
pub struct ItemSchema {
    schema: SchemaRef,
    /// Of each column, whether its type was found out from values: released values then choose it anew.
    found: Vec<bool>,
}

impl ItemSchema {
    /// The schema of item columns with these names and types; dictionaries and run-end encodings are replaced
    /// by their values, metadata is left behind.
    ///
    /// # Errors
    /// [`Error::Schema`] for a type that cannot be an item.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, &'a DataType)>) -> Result<Self> {
        let mut fields = Vec::new();
        for (name, data_type) in columns {
            let plain = value_type(data_type);
            if key_kind(plain).is_none() {
                return Err(super::plan::refused("item", name, plain, super::stream::NAME));
            }
            fields.push(Field::new(name, plain.clone(), true));
        }
        let found = vec![false; fields.len()];
        Ok(Self { schema: Arc::new(Schema::new(fields)), found })
    }

    /// The same, where the types of the marked columns are not declared but were found out from values.
    #[must_use]
    pub(super) fn with_found(self, found: &[bool]) -> Self {
        Self { found: found.to_vec(), ..self }
    }

    /// The item columns' Arrow schema: names and types as they came in, dictionaries replaced by their values.
    #[must_use]
    pub fn arrow_schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// How keys of this schema are stored.
    #[must_use]
    pub fn layout(&self) -> KeyLayout {
        match self.schema.fields().as_ref() {
            [field] if !is_bytes(field.data_type()) => KeyLayout::Words,
            _ => KeyLayout::Bytes,
        }
    }

    /// The kind of the items if they are integer-like: then their canonical block holds all there is to know.
    #[must_use]
    pub fn integer_kind(&self) -> Option<KeyKind> {
        let [field] = self.schema.fields().as_ref() else { return None };
        key_kind(field.data_type()).filter(|_| self.layout() == KeyLayout::Words)
    }

    /// Build the column of integer-like items from the values in their canonical blocks.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if the items are of another kind, or a value does not fit their type.
    pub fn decode_integers(&self, values: &[i128]) -> Result<RecordBatch> {
        let [field] = self.schema.fields().as_ref() else { return Err(CORRUPT) };
        let column = from_integers(field.data_type(), values.iter().map(|value| Some(*value)))?;
        with_rows(self.arrow_schema(), vec![column], values.len())
    }

    /// Decode keys into freshly built columns (law 5), in the order given. Their types are the declared ones; where none was
    /// declared, the keys choose them.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if the keys do not have this schema.
    pub fn decode<'a>(&self, keys: impl Iterator<Item = (&'a KeyStore, usize)>) -> Result<RecordBatch> {
        let keys: Vec<(&KeyStore, usize)> = keys.collect();
        let columns = match self.schema.fields().as_ref() {
            [field] if self.layout() == KeyLayout::Words => {
                let words = keys.iter().map(|(s, at)| s.word(*at)).collect::<Option<Vec<_>>>();
                vec![from_words(field.data_type(), &words.ok_or(CORRUPT)?)?]
            }
            [field] => vec![from_bytes(field.data_type(), &byte_keys(&keys)?)?],
            fields => {
                let mut rest = byte_keys(&keys)?;
                fields.iter().map(|f| component(f.data_type(), &mut rest)).collect::<Result<_>>()?
            }
        };
        found::settle(with_rows(self.arrow_schema(), columns, keys.len())?, &self.found)
    }
}

/// Sort rows by the columns from left to right; also returns, for each row of the result, where it stood before.
///
/// # Errors
/// [`crate::Error::Internal`] if a type has no order.
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

pub(super) fn with_rows(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(|_| CORRUPT)
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(key_kind(data_type), Some(KeyKind::Text | KeyKind::Binary))
}

fn byte_keys<'a>(keys: &[(&'a KeyStore, usize)]) -> Result<Vec<&'a [u8]>> {
    keys.iter().map(|(s, at)| s.bytes(*at)).collect::<Option<_>>().ok_or(CORRUPT)
}

/// Take one component off every composite key and build its column.
fn component(data_type: &DataType, keys: &mut [&[u8]]) -> Result<ArrayRef> {
    let mut values = Vec::with_capacity(keys.len());
    for key in keys.iter_mut() {
        let (_, value, rest) = composite::next_component(key).ok_or(CORRUPT)?;
        values.push(value);
        *key = rest;
    }
    if is_bytes(data_type) {
        return from_bytes(data_type, &values);
    }
    from_integers(data_type, values.into_iter().map(composite::integer))
}

/// A column from the values in canonical blocks, which count time in nanoseconds.
fn from_integers(data_type: &DataType, values: impl Iterator<Item = Option<i128>>) -> Result<ArrayRef> {
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

fn from_words(data_type: &DataType, words: &[u64]) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Int8 => narrow::<Int8Type>(words)?,
        DataType::Int16 => narrow::<Int16Type>(words)?,
        DataType::Int32 => narrow::<Int32Type>(words)?,
        DataType::Int64 => narrow::<Int64Type>(words)?,
        DataType::UInt8 => narrow::<UInt8Type>(words)?,
        DataType::UInt16 => narrow::<UInt16Type>(words)?,
        DataType::UInt32 => narrow::<UInt32Type>(words)?,
        DataType::UInt64 => Arc::new(PrimitiveArray::<UInt64Type>::from_iter_values(words.iter().copied())),
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

fn from_bytes(data_type: &DataType, values: &[&[u8]]) -> Result<ArrayRef> {
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

/// Types with 32-bit offsets hold 2 GiB; arrow would panic beyond.
fn check_offsets(values: &[&[u8]]) -> Result<()> {
    let limit = i32::MAX.unsigned_abs().into();
    let total: u64 = values.iter().map(|v| v.len() as u64).sum();
    if total > limit {
        return Err(Error::Capacity { what: "bytes of released text in one column", limit });
    }
    Ok(())
}
