//! JSON values that borrow their text from the line.

use std::borrow::Cow;
use std::fmt;

use arrow_schema::{DataType, Fields};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A JSON value. Numbers with a fraction or an exponent, and objects, are refused later, so their content is dropped.
pub(super) enum JsonValue<'a> {
    Null,
    Boolean(bool),
    /// A whole number in the range of `i64`.
    Integer(i64),
    /// A larger whole number.
    Unsigned(u64),
    Float,
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Object,
}

impl JsonValue<'_> {
    /// The type of a column with this value. Values that no column may hold, objects and lists of several types, have
    /// an empty struct type.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Boolean(_) => DataType::Boolean,
            Self::Integer(_) => DataType::Int64,
            Self::Unsigned(_) => DataType::UInt64,
            Self::Float => DataType::Float64,
            Self::Text(_) => DataType::Utf8,
            Self::List(values) => {
                let element = values.iter().try_fold(DataType::Null, |seen, v| unify(seen, v.data_type()));
                DataType::new_list(element.unwrap_or_else(unsupported), true)
            }
            Self::Object => unsupported(),
        }
    }
}

fn unsupported() -> DataType {
    DataType::Struct(Fields::empty())
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

/// Whether a type is still unknown because only nulls and empty lists were seen.
pub(super) fn undecided(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => true,
        DataType::List(element) => undecided(element.data_type()),
        _ => false,
    }
}

impl<'de> Deserialize<'de> for JsonValue<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = JsonValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(JsonValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(JsonValue::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(JsonValue::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        // Otherwise: the number is above the range of `i64`.
        Ok(i64::try_from(value).map_or(JsonValue::Unsigned(value), JsonValue::Integer))
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Self::Value, E> {
        Ok(JsonValue::Float)
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(JsonValue::Text(Cow::Borrowed(value)))
    }

    /// Text with escapes, which has to be copied.
    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(JsonValue::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element()? {
            values.push(value);
        }
        Ok(JsonValue::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(JsonValue::Object)
    }
}
