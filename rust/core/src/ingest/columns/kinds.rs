//! Which Arrow types can identify a user or an item, and what their values mean.

use arrow_schema::{DataType, TimeUnit};

use crate::Error;
use crate::random::KeyKind;

/// Milliseconds of a day. `Date64` counts milliseconds; canonical dates count days.
pub(in crate::ingest) const DAY_MILLISECONDS: i64 = 86_400_000;

/// The kind of key that a plain type (neither dictionary nor list) makes; `None` if the type is not accepted.
///
/// The null type has no values and fits any kind. It is reported as [`KeyKind::Boolean`], whose layout is words.
pub(in crate::ingest) fn key_kind(data_type: &DataType) -> Option<KeyKind> {
    Some(match data_type {
        t if t.is_integer() => KeyKind::Integer,
        // What databases call a number of 38 digits without a fraction.
        DataType::Decimal128(_, 0) => KeyKind::Integer,
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
pub(in crate::ingest) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        plain => plain,
    }
}

/// The element type of a list column, if it is one.
pub(in crate::ingest) fn element_type(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => Some(field.data_type()),
        _ => None,
    }
}

/// Nanoseconds in one unit of a timestamp type; 1 for every other type.
pub(in crate::ingest) fn scale(data_type: &DataType) -> i64 {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000,
        _ => 1,
    }
}

/// The error for a column type that cannot identify a user or an item.
pub(in crate::ingest) fn unsupported_type(
    role: &str,
    name: &str,
    data_type: &DataType,
    source: &str,
) -> Error {
    let fix = match data_type {
        t if t.is_floating() => {
            "floating-point numbers have no exact equality; cast the column to integer or string".to_owned()
        }
        t if element_type(t).is_some() && role == "user" => {
            "one row belongs to one user; unnest it first".to_owned()
        }
        DataType::Decimal128(..) => {
            "decimals with a fraction have no one form; cast the column to integer or string".to_owned()
        }
        DataType::Struct(_) => "name its fields as columns of their own".to_owned(),
        _ => "use an integer, string, binary, boolean, date or timestamp column, or cast it to string"
            .to_owned(),
    };
    Error::Schema {
        what: format!("{role} column '{name}' of {source} has type {data_type}, which is not supported"),
        fix,
    }
}
