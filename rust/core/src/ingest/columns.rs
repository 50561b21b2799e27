//! One view over every accepted column type: canonical words or canonical bytes.
//!
//! The canonical encodings are stated in `docs/algorithms/canonical-keys.md`. Columns are normalised once per
//! batch without copying where the memory layout allows it, so that everything after this file knows only
//! five layouts.

mod bytes;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};
use num_traits::AsPrimitive;

pub(super) use bytes::{ByteColumn, BytePayload, Packed, WordPayload};

use crate::random::KeyKind;
use crate::{Error, Result};

/// Milliseconds of a day: `Date64` counts the former, canonical dates the latter.
pub(super) const DAY_MILLISECONDS: i64 = 86_400_000;

/// The kind of key that a plain (not dictionary, not list) type makes; `None` if it is not accepted.
///
/// The null type has no values and fits any kind; it is reported as [`KeyKind::Boolean`], whose layout is words.
pub(super) fn key_kind(data_type: &DataType) -> Option<KeyKind> {
    Some(match data_type {
        t if t.is_integer() => KeyKind::Integer,
        DataType::Boolean | DataType::Null => KeyKind::Boolean,
        DataType::Date32 | DataType::Date64 => KeyKind::Date,
        DataType::Timestamp(_, None) => KeyKind::Timestamp,
        DataType::Timestamp(_, Some(_)) => KeyKind::Instant,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => KeyKind::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            KeyKind::Binary
        }
        _ => return None,
    })
}

/// The type of the values inside dictionaries and run-end encodings.
pub(super) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        plain => plain,
    }
}

/// Nanoseconds in one unit of a timestamp type; 1 for everything else.
pub(super) fn scale(data_type: &DataType) -> i64 {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000,
        _ => 1,
    }
}

/// A plain column without nulls.
#[derive(Debug)]
pub(super) struct Flat {
    pub(super) kind: KeyKind,
    pub(super) values: Values,
}

/// The values of a [`Flat`] column.
#[derive(Debug)]
pub(super) enum Values {
    Words(Words),
    Small(BinaryArray),
    Large(LargeBinaryArray),
    Views(BinaryViewArray),
    Fixed(FixedSizeBinaryArray),
}

/// Integer-like values as 64-bit words.
#[derive(Debug, Clone)]
pub(super) struct Words {
    pub(super) values: ScalarBuffer<u64>,
    pub(super) signed: bool,
    /// Multiplier from a word to the canonical value.
    pub(super) scale: i64,
}

impl Words {
    /// The canonical value of a word of this column.
    #[inline]
    pub(super) fn canonical(&self, word: u64) -> i128 {
        if self.signed { i128::from(word.cast_signed()) * i128::from(self.scale) } else { i128::from(word) }
    }
}

impl Flat {
    /// Normalise a plain column; its nulls (if any) are given arbitrary values.
    ///
    /// # Errors
    /// [`Error::Internal`] for a type that the schema check should have refused.
    pub(super) fn new(array: &dyn Array) -> Result<Self> {
        const REFUSED: Error = Error::Internal("a column type passed the schema check by mistake");
        let kind = key_kind(array.data_type()).ok_or(REFUSED)?;
        let values = match array.data_type() {
            DataType::Utf8 => Values::Small(array.as_string::<i32>().clone().into()),
            DataType::LargeUtf8 => Values::Large(array.as_string::<i64>().clone().into()),
            DataType::Utf8View => Values::Views(array.as_string_view().clone().to_binary_view()),
            DataType::Binary => Values::Small(array.as_binary::<i32>().clone()),
            DataType::LargeBinary => Values::Large(array.as_binary::<i64>().clone()),
            DataType::BinaryView => Values::Views(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => Values::Fixed(array.as_fixed_size_binary().clone()),
            _ => Values::Words(words(array).ok_or(REFUSED)?),
        };
        Ok(Self { kind, values })
    }
}

fn words(array: &dyn Array) -> Option<Words> {
    let data_type = array.data_type();
    let values = match data_type {
        DataType::Int8 => widen_signed::<Int8Type>(array),
        DataType::Int16 => widen_signed::<Int16Type>(array),
        DataType::Int32 => widen_signed::<Int32Type>(array),
        DataType::Int64 => same::<Int64Type>(array),
        DataType::UInt8 => widen_unsigned::<UInt8Type>(array),
        DataType::UInt16 => widen_unsigned::<UInt16Type>(array),
        DataType::UInt32 => widen_unsigned::<UInt32Type>(array),
        DataType::UInt64 => same::<UInt64Type>(array),
        DataType::Date32 => widen_signed::<Date32Type>(array),
        DataType::Date64 => array
            .as_primitive::<Date64Type>()
            .values()
            .iter()
            .map(|ms| ms.div_euclid(DAY_MILLISECONDS).cast_unsigned())
            .collect(),
        DataType::Timestamp(TimeUnit::Second, _) => same::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => same::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => same::<TimestampMicrosecondType>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => same::<TimestampNanosecondType>(array),
        DataType::Boolean => array.as_boolean().values().iter().map(u64::from).collect(),
        DataType::Null => std::iter::repeat_n(0, array.len()).collect(),
        _ => return None,
    };
    let signed = !data_type.is_unsigned_integer();
    Some(Words { values, signed, scale: scale(data_type) })
}

/// 64-bit values as they are, without a copy.
fn same<T: ArrowPrimitiveType>(array: &dyn Array) -> ScalarBuffer<u64> {
    ScalarBuffer::from(array.as_primitive::<T>().values().inner().clone())
}

fn widen_signed<T: ArrowPrimitiveType>(array: &dyn Array) -> ScalarBuffer<u64>
where
    T::Native: Into<i64>,
{
    array.as_primitive::<T>().values().iter().map(|&v| Into::<i64>::into(v).cast_unsigned()).collect()
}

fn widen_unsigned<T: ArrowPrimitiveType>(array: &dyn Array) -> ScalarBuffer<u64>
where
    T::Native: Into<u64>,
{
    array.as_primitive::<T>().values().iter().map(|&v| v.into()).collect()
}

/// The keys of a dictionary column as positions in its values; keys of null rows are meaningless.
pub(super) fn dictionary_keys(array: &dyn Array) -> Option<(ScalarBuffer<u32>, ArrayRef)> {
    macro_rules! keys {
        ($($t:ty),*) => { downcast_keys(array, &[$(keys_of::<$t>),*]) };
    }
    keys!(Int32Type, UInt32Type, Int8Type, Int16Type, Int64Type, UInt8Type, UInt16Type, UInt64Type)
}

type KeysOf = fn(&dyn Array) -> Option<(ScalarBuffer<u32>, ArrayRef)>;

fn downcast_keys(array: &dyn Array, attempts: &[KeysOf]) -> Option<(ScalarBuffer<u32>, ArrayRef)> {
    attempts.iter().find_map(|attempt| attempt(array))
}

fn keys_of<K: ArrowDictionaryKeyType>(array: &dyn Array) -> Option<(ScalarBuffer<u32>, ArrayRef)>
where
    K::Native: ArrowNativeType + AsPrimitive<u32>,
{
    let dictionary = array.as_dictionary_opt::<K>()?;
    let keys = dictionary.keys().values();
    let keys = if size_of::<K::Native>() == size_of::<u32>() {
        ScalarBuffer::from(keys.inner().clone())
    } else {
        keys.iter().map(|&k| AsPrimitive::<u32>::as_(k)).collect()
    };
    Some((keys, dictionary.values().clone()))
}

/// Rows of a column that are not null: the column itself if there are none, else a filtered copy and the mask.
///
/// # Errors
/// [`Error::Internal`] if arrow cannot filter the type.
pub(super) fn drop_nulls(array: &ArrayRef) -> Result<(ArrayRef, Option<BooleanArray>)> {
    let Some(nulls) = array.logical_nulls().filter(|n| n.null_count() > 0) else {
        return Ok((ArrayRef::clone(array), None));
    };
    let valid = BooleanArray::new(nulls.inner().clone(), None);
    Ok((filter(array, &valid)?, Some(valid)))
}

/// The rows of a column that a mask names.
pub(super) fn filter(array: &ArrayRef, mask: &BooleanArray) -> Result<ArrayRef> {
    arrow_select::filter::filter(array, mask)
        .map_err(|_| Error::Internal("rows of a column cannot be filtered"))
}
