//! A plain column as 64-bit words or as bytes.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};
use dpsel_exact::random::KeyKind;
use dpsel_exact::{Error, Result};

use super::kinds::{DAY_MILLISECONDS, key_kind, scale};

/// A plain column without nulls.
#[derive(Debug)]
pub(in crate::ingest) struct Flat {
    pub(in crate::ingest) kind: KeyKind,
    pub(in crate::ingest) values: Values,
}

/// The values of a [`Flat`] column.
#[derive(Debug)]
pub(in crate::ingest) enum Values {
    Integers(IntegerValues),
    Small(BinaryArray),
    Large(LargeBinaryArray),
    Views(BinaryViewArray),
    Fixed(FixedSizeBinaryArray),
}

/// Integer-like values as 64-bit words.
#[derive(Debug, Clone)]
pub(in crate::ingest) struct IntegerValues {
    pub(in crate::ingest) values: ScalarBuffer<u64>,
    pub(in crate::ingest) signed: bool,
    /// Multiplier from a word to the canonical value.
    pub(in crate::ingest) scale: i64,
}

impl IntegerValues {
    /// The canonical value of a word of this column.
    #[inline]
    pub(in crate::ingest) fn canonical(&self, word: u64) -> i128 {
        if self.signed { i128::from(word.cast_signed()) * i128::from(self.scale) } else { i128::from(word) }
    }
}

impl Flat {
    /// Normalise a plain column whose schema declares keys of this kind. Nulls get arbitrary values.
    ///
    /// # Errors
    /// [`Error::Values`] for an array of another kind: its values would be other keys than equal ones elsewhere.
    /// [`Error::Internal`] for a type that the schema check should have refused.
    pub(in crate::ingest) fn new(array: &dyn Array, kind: KeyKind) -> Result<Self> {
        const REFUSED: Error = Error::Internal("a column type passed the schema check by mistake");
        // An array of the null type has no values, and fits any kind.
        if array.data_type() != &DataType::Null && key_kind(array.data_type()) != Some(kind) {
            return Err(Error::Values {
                what: "has rows of another type than its schema declares",
                fix: "make the source declare the types of its rows",
            });
        }
        let values = match array.data_type() {
            DataType::Utf8 => Values::Small(array.as_string::<i32>().clone().into()),
            DataType::LargeUtf8 => Values::Large(array.as_string::<i64>().clone().into()),
            DataType::Utf8View => Values::Views(array.as_string_view().clone().to_binary_view()),
            DataType::Binary => Values::Small(array.as_binary::<i32>().clone()),
            DataType::LargeBinary => Values::Large(array.as_binary::<i64>().clone()),
            DataType::BinaryView => Values::Views(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => Values::Fixed(array.as_fixed_size_binary().clone()),
            DataType::Decimal128(..) => Values::Integers(whole_numbers(array)?),
            _ => Values::Integers(words(array).ok_or(REFUSED)?),
        };
        Ok(Self { kind, values })
    }
}

fn words(array: &dyn Array) -> Option<IntegerValues> {
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
    Some(IntegerValues { values, signed, scale: scale(data_type) })
}

/// Decimals without a fraction, which are integers.
///
/// # Errors
/// [`Error::Values`] beyond 64 bits.
fn whole_numbers(array: &dyn Array) -> Result<IntegerValues> {
    let word = |value: Option<i128>| match value {
        // What stands under a null may be anything.
        None => Some(0),
        Some(value) => i64::try_from(value).ok().map(i64::cast_unsigned),
    };
    let words =
        array.as_primitive::<Decimal128Type>().iter().map(word).collect::<Option<ScalarBuffer<u64>>>();
    let values = words.ok_or(Error::Values {
        what: "has whole numbers beyond 64 bits",
        fix: "cast the column to string",
    })?;
    Ok(IntegerValues { values, signed: true, scale: 1 })
}

/// 64-bit values, without a copy.
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
