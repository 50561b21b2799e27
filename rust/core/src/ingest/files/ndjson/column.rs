//! Columns built from JSON values of one type.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, ListArray, NullArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, FieldRef};
use serde_json::Value;

use crate::{Error, Result};

/// A column under construction.
pub(super) enum Column {
    Null(usize),
    Integer(Int64Builder),
    Unsigned(UInt64Builder),
    Text(StringBuilder),
    Boolean(BooleanBuilder),
    List(Box<Lists>),
}

/// The type of one value; objects and mixed lists are told apart from everything that is accepted.
pub(super) fn type_of(value: &Value) -> DataType {
    match value {
        Value::Null => DataType::Null,
        Value::Bool(_) => DataType::Boolean,
        Value::Number(n) if n.is_i64() => DataType::Int64,
        Value::Number(n) if n.is_u64() => DataType::UInt64,
        Value::Number(_) => DataType::Float64,
        Value::String(_) => DataType::Utf8,
        Value::Array(values) => {
            let element = values.iter().try_fold(DataType::Null, |seen, v| unify(seen, type_of(v)));
            DataType::new_list(element.unwrap_or_else(unsupported), true)
        }
        Value::Object(_) => unsupported(),
    }
}

fn unsupported() -> DataType {
    DataType::Struct(arrow_schema::Fields::empty())
}

/// The type of a field with values of both types; null fits every type.
pub(super) fn unify(a: DataType, b: DataType) -> Option<DataType> {
    match (a, b) {
        (DataType::Null, t) | (t, DataType::Null) => Some(t),
        (DataType::List(a), DataType::List(b)) => {
            Some(DataType::new_list(unify(a.data_type().clone(), b.data_type().clone())?, true))
        }
        (DataType::Int64, DataType::UInt64) | (DataType::UInt64, DataType::Int64) => Some(DataType::UInt64),
        (a, b) => (a == b).then_some(a),
    }
}

/// Whether a type is not known yet because only nulls and empty lists were seen.
pub(super) fn undecided(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => true,
        DataType::List(element) => undecided(element.data_type()),
        _ => false,
    }
}

impl Column {
    /// An empty column; `None` for a type that no JSON value has.
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Null => Self::Null(0),
            DataType::Int64 => Self::Integer(Int64Builder::new()),
            DataType::UInt64 => Self::Unsigned(UInt64Builder::new()),
            DataType::Utf8 => Self::Text(StringBuilder::new()),
            DataType::Boolean => Self::Boolean(BooleanBuilder::new()),
            DataType::List(element) => Self::List(Box::new(Lists {
                values: Self::new(element.data_type())?,
                element: Arc::clone(element),
                lengths: Vec::new(),
                valid: NullBufferBuilder::new(0),
            })),
            _ => return None,
        })
    }

    /// Append a value; false if it has another type.
    pub(super) fn push(&mut self, value: Value) -> bool {
        match (self, value) {
            (Self::Null(n), Value::Null) => *n += 1,
            (Self::Integer(b), Value::Null) => b.append_null(),
            (Self::Unsigned(b), Value::Null) => b.append_null(),
            (Self::Text(b), Value::Null) => b.append_null(),
            (Self::Boolean(b), Value::Null) => b.append_null(),
            (Self::Text(b), Value::String(text)) => b.append_value(text),
            (Self::Boolean(b), Value::Bool(flag)) => b.append_value(flag),
            (Self::Integer(b), Value::Number(n)) => match n.as_i64() {
                Some(n) => b.append_value(n),
                None => return false,
            },
            (Self::Unsigned(b), Value::Number(n)) => match n.as_u64() {
                Some(n) => b.append_value(n),
                None => return false,
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
pub(super) struct Lists {
    values: Column,
    element: FieldRef,
    lengths: Vec<usize>,
    valid: NullBufferBuilder,
}

impl Lists {
    fn push(&mut self, value: Value) -> bool {
        match value {
            Value::Null => {
                self.lengths.push(0);
                self.valid.append_null();
                true
            }
            Value::Array(values) => {
                self.lengths.push(values.len());
                self.valid.append_non_null();
                values.into_iter().all(|v| self.values.push(v))
            }
            _ => false,
        }
    }
}
