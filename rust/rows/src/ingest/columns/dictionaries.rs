//! Dictionaries and run-end encodings: their keys, or the values that they stand for.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::DataType;
use dpsel_exact::{Error, Result};
use num_traits::AsPrimitive;

/// The keys of a dictionary column, as positions in its values. Keys of null rows are meaningless.
pub(in crate::ingest) fn dictionary_keys(array: &dyn Array) -> Option<(ScalarBuffer<u32>, ArrayRef)> {
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

/// Replaces run-end encodings, and dictionaries whose values are not plain, by plain columns.
pub(in crate::ingest) fn decode_runs(column: &ArrayRef) -> Result<ArrayRef> {
    const FAILED: Error = Error::Internal("a run-end encoded column cannot be decoded");
    match column.data_type() {
        DataType::RunEndEncoded(_, values) => {
            let plain = arrow_cast::cast(column, values.data_type()).map_err(|_| FAILED)?;
            decode_runs(&plain)
        }
        DataType::Dictionary(_, values)
            if values.is_nested() || matches!(**values, DataType::Dictionary(..)) =>
        {
            let keys = column.as_any_dictionary();
            let plain = arrow_select::take::take(keys.values(), keys.keys(), None).map_err(|_| FAILED)?;
            decode_runs(&plain)
        }
        _ => Ok(ArrayRef::clone(column)),
    }
}

/// The values that a dictionary column stands for; other columns as they are.
pub(in crate::ingest) fn plain_values(column: &ArrayRef) -> Result<ArrayRef> {
    match column.as_any_dictionary_opt() {
        Some(dictionary) => arrow_select::take::take(dictionary.values(), dictionary.keys(), None)
            .map_err(|_| Error::Internal("values of a dictionary cannot be taken")),
        None => Ok(ArrayRef::clone(column)),
    }
}
