//! Which declared types can identify a user or an item, and what their values mean. Every source is checked against
//! this one table, and what it does not name is refused.
//!
//! A declaration is a field of an Arrow schema: its type, and the name of its extension type. Readers of other formats
//! state in these terms what their formats declare. The decoded arrays never decide the kind of a key.

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};

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

/// The names of the extension types for JSON and UUIDs.
pub(in crate::ingest) const JSON: &str = "arrow.json";
pub(in crate::ingest) const UUID: &str = "arrow.uuid";
/// The name of the extension type of pandas periods.
const PERIOD: &str = "pandas.period";

/// Whether an extension type has a meaning here, in this Arrow type.
///
/// JSON is its text. A UUID is its sixteen bytes, and so another user than its text.
fn has_meaning(extension: &str, plain: &DataType) -> bool {
    match extension {
        JSON => key_kind(plain) == Some(KeyKind::Text),
        UUID => *plain == DataType::FixedSizeBinary(16),
        _ => false,
    }
}

/// Why a declared type cannot be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ingest) enum NoKey<'a> {
    /// An extension type without a meaning here. Its bytes need not be its value: several may be one value.
    Extension(&'a str),
    Type(&'a DataType),
}

/// The plain type of a declared column and the kind of its keys, if its values can be keys.
pub(in crate::ingest) fn key_type(field: &Field) -> Result<(&DataType, KeyKind), NoKey<'_>> {
    let mut extensions = Vec::new();
    let plain = plain_type(field, &mut extensions);
    match (extensions.into_iter().find(|name| !has_meaning(name, plain)), key_kind(plain)) {
        (Some(name), _) => Err(NoKey::Extension(name)),
        (None, None) => Err(NoKey::Type(plain)),
        (None, Some(kind)) => Ok((plain, kind)),
    }
}

/// As [`key_type`], for a column that may hold lists of keys.
pub(in crate::ingest) fn element_key_type(field: &Field) -> Result<(&DataType, KeyKind), NoKey<'_>> {
    let mut extensions = Vec::new();
    match (element(plain_type(field, &mut extensions)), extensions.first()) {
        (Some(_), Some(name)) => Err(NoKey::Extension(name)),
        (Some(element), None) => key_type(element),
        (None, _) => key_type(field),
    }
}

/// Whether a column in memory may hold addresses. polars exports a column of Python objects as binary values of eight
/// bytes without any mark, also through other libraries.
pub(in crate::ingest) fn may_be_addresses(field: &Field) -> bool {
    let plain = value_type(field.data_type());
    let plain = element(plain).map_or(plain, |element| value_type(element.data_type()));
    *plain == DataType::FixedSizeBinary(8)
}

/// The type of a field inside dictionaries and run-end encodings. The names of its extension types are appended.
fn plain_type<'a>(field: &'a Field, extensions: &mut Vec<&'a str>) -> &'a DataType {
    extensions.extend(field.extension_type_name());
    let mut data_type = field.data_type();
    while let DataType::Dictionary(_, values) = data_type {
        data_type = values;
    }
    match data_type {
        DataType::RunEndEncoded(_, values) => plain_type(values, extensions),
        plain => plain,
    }
}

/// The type of the values inside dictionaries and run-end encodings.
pub(in crate::ingest) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        plain => plain,
    }
}

/// The elements of a list type, if it is one.
pub(in crate::ingest) fn element(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => Some(field),
        _ => None,
    }
}

/// The element type of a list column, if it is one.
pub(in crate::ingest) fn element_type(data_type: &DataType) -> Option<&DataType> {
    element(data_type).map(|field| field.data_type())
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

/// The error for a declared type that cannot identify a user or an item.
pub(in crate::ingest) fn unsupported(role: &str, name: &str, why: NoKey<'_>, source: &str) -> Error {
    match why {
        NoKey::Type(data_type) => unsupported_type(role, name, data_type, source),
        NoKey::Extension(PERIOD) => Error::Schema {
            what: format!(
                "{role} column '{name}' of {source} holds pandas periods, which are bare numbers in Arrow"
            ),
            fix: "convert it in pandas with astype(str), or with dt.to_timestamp()".into(),
        },
        NoKey::Extension(extension) => Error::Schema {
            what: format!(
                "{role} column '{name}' of {source} is declared as '{extension}', which is not supported: its bytes \
                 are not its value, or have several forms for one"
            ),
            fix: "cast the column to string, or to the type that it stands for, where it comes from".into(),
        },
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
