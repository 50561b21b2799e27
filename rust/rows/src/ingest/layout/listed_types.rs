//! The types in which the items of public lists come out, where the data declares none.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::KeyKind;
use dpsel_exact::{Error, Result};

use super::common_type::widest;
use crate::ingest::columns::key_kind;
use crate::ingest::items::with_rows;

/// For each item column, the types of a public list; none where the data declares a type.
#[derive(Debug, Clone, Default)]
pub struct ListedTypes(pub(in crate::ingest) Vec<Option<ListedType>>);

/// The types of a column of a public list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ingest) struct ListedType {
    /// The type in which the caller gave the items, and in which they come back.
    pub(in crate::ingest) given: DataType,
    /// The type in which they are compared with those of the data.
    pub(in crate::ingest) held: DataType,
}

impl ListedTypes {
    /// Items of the list in the types in which they were given. The cast is exact, because the cast from these types was. A
    /// column without values stays as it is.
    ///
    /// # Errors
    /// [`Error::Internal`] if an item has no value in its type.
    pub fn restore(&self, items: RecordBatch) -> Result<RecordBatch> {
        if self.0.iter().all(Option::is_none) {
            return Ok(items);
        }
        let (schema, mut arrays, rows) = (items.schema(), items.columns().to_vec(), items.num_rows());
        let mut fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
        for ((array, field), listed) in arrays.iter_mut().zip(&mut fields).zip(&self.0) {
            let Some(ListedType { given, held: _ }) = listed else { continue };
            if array.logical_null_count() < array.len() {
                *array = restored(array, given)?;
                *field = field.clone().with_data_type(given.clone());
            }
        }
        with_rows(Arc::new(Schema::new(fields)), arrays, rows)
    }
}

/// Values in the type in which they were given.
fn restored(array: &ArrayRef, given: &DataType) -> Result<ArrayRef> {
    const FAILED: Error = Error::Internal("public items cannot be given back as they were listed");
    let cast = |array: &ArrayRef, to: &DataType| {
        cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })
            .map_err(|_| FAILED)
    };
    // Arrow writes the milliseconds of `Date64`, but a listed text has a day alone.
    if array.data_type() == &DataType::Date64 && key_kind(given) == Some(KeyKind::Text) {
        return cast(&cast(array, &DataType::Date32)?, given);
    }
    cast(array, given)
}

impl ListedType {
    /// The types of the items of both lists. Texts join values of another kind, because they were cast to it.
    pub(super) fn after(&self, now: &Self) -> Option<Self> {
        let held = match (&self.held, &now.held) {
            (DataType::Int64, DataType::UInt64) | (DataType::UInt64, DataType::Int64) => DataType::UInt64,
            (before, now) => widest(before, now)?,
        };
        let are_texts = [self, now].iter().all(|listed| key_kind(&listed.given) == Some(KeyKind::Text));
        let given = if are_texts { DataType::LargeUtf8 } else { held.clone() };
        Some(Self { given, held })
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date64Array, Int64Array, LargeStringArray, NullArray};

    use super::*;

    fn listed(given: DataType, held: DataType) -> ListedType {
        ListedType { given, held }
    }

    fn restored_as(values: ArrayRef, given: DataType) -> ArrayRef {
        let held = values.data_type().clone();
        let items = RecordBatch::try_from_iter_with_nullable([("item", values, true)]).unwrap();
        let found = ListedTypes(vec![Some(listed(given, held))]).restore(items).unwrap();
        assert_eq!(found.schema().field(0).data_type(), found.column(0).data_type());
        ArrayRef::clone(found.column(0))
    }

    #[test]
    fn items_come_back_as_they_were_given() {
        let texts = |values: &[&str]| Arc::new(LargeStringArray::from(values.to_vec())) as ArrayRef;
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![9, 10]));
        assert_eq!(&restored_as(Arc::clone(&numbers), DataType::LargeUtf8), &texts(&["9", "10"]));
        assert_eq!(&restored_as(Arc::clone(&numbers), DataType::Int64), &numbers);
        let days = Arc::new(Date64Array::from(vec![0, 86_400_000]));
        assert_eq!(&restored_as(days, DataType::LargeUtf8), &texts(&["1970-01-01", "1970-01-02"]));
        let none: ArrayRef = Arc::new(NullArray::new(2));
        assert_eq!(&restored_as(Arc::clone(&none), DataType::Int64), &none);
    }

    #[test]
    fn texts_join_the_values_of_other_lists() {
        use DataType::{Date32, Int64, LargeUtf8, UInt64, Utf8};
        let both = |one: ListedType, other: ListedType| {
            assert_eq!(one.after(&other), other.after(&one));
            one.after(&other)
        };
        let texts = || listed(LargeUtf8, Int64);
        assert_eq!(both(texts(), texts()), Some(texts()));
        assert_eq!(both(texts(), listed(Int64, Int64)), Some(listed(Int64, Int64)));
        assert_eq!(both(texts(), listed(LargeUtf8, UInt64)), Some(listed(LargeUtf8, UInt64)));
        assert_eq!(both(texts(), listed(UInt64, UInt64)), Some(listed(UInt64, UInt64)));
        assert_eq!(
            both(listed(Utf8, Utf8), listed(LargeUtf8, LargeUtf8)),
            Some(listed(LargeUtf8, LargeUtf8))
        );
        assert_eq!(both(listed(Date32, Date32), texts()), None);
    }
}
