//! Columns of JSON values of one type.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, ListArray, NullArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, FieldRef};
use dpsel_exact::{Error, Result};

use super::value::JsonValue;

/// A column under construction.
pub(super) enum ColumnBuilder {
    Null(usize),
    Integer(Int64Builder),
    Unsigned(UInt64Builder),
    Text(StringBuilder),
    Boolean(BooleanBuilder),
    List(Box<ListBuilder>),
}

impl ColumnBuilder {
    /// An empty column; `None` for a type that a JSON column cannot have.
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Null => Self::Null(0),
            DataType::Int64 => Self::Integer(Int64Builder::new()),
            DataType::UInt64 => Self::Unsigned(UInt64Builder::new()),
            DataType::Utf8 => Self::Text(StringBuilder::new()),
            DataType::Boolean => Self::Boolean(BooleanBuilder::new()),
            DataType::List(element) => Self::List(Box::new(ListBuilder {
                values: Self::new(element.data_type())?,
                element: Arc::clone(element),
                lengths: Vec::new(),
                valid: NullBufferBuilder::new(0),
            })),
            _ => return None,
        })
    }

    /// Append a value; false if it has another type.
    pub(super) fn push(&mut self, value: JsonValue<'_>) -> bool {
        match (self, value) {
            (Self::Null(n), JsonValue::Null) => *n += 1,
            (Self::Integer(b), JsonValue::Null) => b.append_null(),
            (Self::Unsigned(b), JsonValue::Null) => b.append_null(),
            (Self::Text(b), JsonValue::Null) => b.append_null(),
            (Self::Boolean(b), JsonValue::Null) => b.append_null(),
            (Self::Text(b), JsonValue::Text(text)) => b.append_value(text),
            (Self::Boolean(b), JsonValue::Boolean(flag)) => b.append_value(flag),
            (Self::Integer(b), JsonValue::Integer(n)) => b.append_value(n),
            (Self::Unsigned(b), JsonValue::Unsigned(n)) => b.append_value(n),
            (Self::Unsigned(b), JsonValue::Integer(n)) => match u64::try_from(n) {
                Ok(n) => b.append_value(n),
                Err(_) => return false,
            },
            (Self::List(lists), value) => return lists.push(value),
            _ => return false,
        }
        true
    }

    /// The finished column.
    pub(super) fn finish(self) -> Result<ArrayRef> {
        Ok(match self {
            Self::Null(n) => Arc::new(NullArray::new(n)),
            Self::Integer(mut b) => Arc::new(b.finish()),
            Self::Unsigned(mut b) => Arc::new(b.finish()),
            Self::Text(mut b) => Arc::new(b.finish()),
            Self::Boolean(mut b) => Arc::new(b.finish()),
            Self::List(mut lists) => {
                let offsets = OffsetBuffer::from_lengths(lists.lengths);
                let list =
                    ListArray::try_new(lists.element, offsets, lists.values.finish()?, lists.valid.finish());
                Arc::new(list.map_err(|_| Error::Internal("lists of an NDJSON field cannot be built"))?)
            }
        })
    }
}

/// A list column under construction.
pub(super) struct ListBuilder {
    values: ColumnBuilder,
    element: FieldRef,
    lengths: Vec<usize>,
    valid: NullBufferBuilder,
}

impl ListBuilder {
    fn push(&mut self, value: JsonValue<'_>) -> bool {
        match value {
            JsonValue::Null => {
                self.lengths.push(0);
                self.valid.append_null();
                true
            }
            JsonValue::List(values) => {
                self.lengths.push(values.len());
                self.valid.append_non_null();
                values.into_iter().all(|v| self.values.push(v))
            }
            _ => false,
        }
    }
}
