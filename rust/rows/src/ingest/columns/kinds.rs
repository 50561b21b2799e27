//! Which declared types can identify a user or an item, and what their values mean. Every source is checked against
//! this one table, and what it does not name is refused.
//!
//! A declaration is a field of an Arrow schema: its type, and the name of its extension type. Readers of other formats
//! state in these terms what their formats declare. The decoded arrays never decide the kind of a key.

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use dpsel_exact::Error;
use dpsel_exact::random::KeyKind;

/// Milliseconds of a day. `Date64` counts milliseconds; canonical dates count days.
pub(in crate::ingest) const DAY_MILLISECONDS: i64 = 86_400_000;

/// polars exports a column of Python objects as their addresses, without any mark. So they come through other libraries
/// and out of files, too.
const ADDRESS: DataType = DataType::FixedSizeBinary(8);

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
        t if *t == ADDRESS => return None,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            KeyKind::Binary
        }
        _ => return None,
    })
}

/// Whether the values of both types make keys of one kind.
#[must_use]
pub fn are_of_one_kind(one: &DataType, other: &DataType) -> bool {
    key_kind(one) == key_kind(other)
}

/// The names of the extension types for JSON and UUIDs.
pub(in crate::ingest) const JSON: &str = "arrow.json";
pub(in crate::ingest) const UUID: &str = "arrow.uuid";
/// The name of the extension type of pandas periods.
const PERIOD: &str = "pandas.period";

/// Whether an extension type has a meaning here, where its values are stored as this type.
///
/// JSON is its text. A UUID is its sixteen bytes, and so another user than its text. A dictionary of extension types has
/// none: Arrow states their names in some forms and not in others.
fn has_meaning(extension: &str, storage: &DataType) -> bool {
    match extension {
        JSON => key_kind(storage) == Some(KeyKind::Text),
        UUID => *storage == DataType::FixedSizeBinary(16),
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
    match (extensions.into_iter().find(|(name, storage)| !has_meaning(name, storage)), key_kind(plain)) {
        (Some((name, _)), _) => Err(NoKey::Extension(name)),
        (None, None) => Err(NoKey::Type(plain)),
        (None, Some(kind)) => Ok((plain, kind)),
    }
}

/// As [`key_type`], for a column that may hold lists of keys.
pub(in crate::ingest) fn element_key_type(field: &Field) -> Result<(&DataType, KeyKind), NoKey<'_>> {
    let mut extensions = Vec::new();
    match (element(plain_type(field, &mut extensions)), extensions.first()) {
        (Some(_), Some((name, _))) => Err(NoKey::Extension(name)),
        (Some(element), None) => key_type(element),
        (None, _) => key_type(field),
    }
}

/// The type of a field inside dictionaries and run-end encodings. Its extension types are appended, with the types that
/// store their values.
fn plain_type<'a>(field: &'a Field, extensions: &mut Vec<(&'a str, &'a DataType)>) -> &'a DataType {
    extensions.extend(field.extension_type_name().map(|name| (name, field.data_type())));
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
        t if *t == ADDRESS => {
            "it may hold the addresses of Python objects, as which polars exports its dtype Object; cast the column to \
             binary of no fixed size if these bytes are its values, and objects to string"
                .to_owned()
        }
        t if t.is_floating() => {
            "floating-point numbers have no exact equality; cast the column to integer or string (where pandas made \
             floats of integers because a value is missing, with astype('Int64'))"
                .to_owned()
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::IntervalUnit;

    use super::*;

    fn named(data_type: DataType, extension: &str) -> Field {
        let metadata = [("ARROW:extension:name".to_owned(), extension.to_owned())];
        Field::new("column", data_type, true).with_metadata(metadata.into())
    }

    fn dictionary(values: DataType) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(values))
    }

    fn runs(values: Field) -> DataType {
        let ends = Field::new("run_ends", DataType::Int32, false);
        DataType::RunEndEncoded(Arc::new(ends), Arc::new(values.with_name("values")))
    }

    #[test]
    fn only_extension_types_with_a_meaning_are_keys_and_no_wrapping_hides_the_others() {
        let sixteen = DataType::FixedSizeBinary(16);
        for (storage, extension, kind) in [
            (DataType::Utf8View, JSON, Some(KeyKind::Text)),
            (sixteen.clone(), UUID, Some(KeyKind::Binary)),
            (DataType::Binary, JSON, None),
            (DataType::Utf8, UUID, None),
            (DataType::FixedSizeBinary(8), UUID, None),
            (DataType::Int8, "arrow.bool8", None),
            (DataType::Utf8, "somebody.text", None),
            (DataType::Null, "somebody.text", None),
            (DataType::Int64, PERIOD, None),
            (dictionary(DataType::Utf8), JSON, None),
            (DataType::Int8, "", None),
        ] {
            let field = named(storage.clone(), extension);
            let list = DataType::LargeList(Arc::new(field.clone()));
            for wrapped in [
                field.clone(),
                Field::new("column", runs(field.clone()), true),
                Field::new("column", dictionary(runs(field.clone())), true),
                Field::new("column", list.clone(), true),
                Field::new("column", runs(Field::new("values", list, true)), true),
            ] {
                let found = element_key_type(&wrapped);
                match kind {
                    Some(kind) => assert_eq!(found, Ok((&storage, kind)), "{wrapped}"),
                    None => assert_eq!(found, Err(NoKey::Extension(extension)), "{wrapped}"),
                }
            }
            // A list that is an extension type itself: a tensor.
            let tensor = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int32, true)), 1);
            for tensor in
                [named(tensor.clone(), extension), Field::new("c", runs(named(tensor, extension)), true)]
            {
                assert_eq!(element_key_type(&tensor), Err(NoKey::Extension(extension)));
            }
        }
    }

    #[test]
    fn other_types_are_no_keys_whatever_wraps_them() {
        for data_type in [
            DataType::Float16,
            DataType::Float64,
            DataType::FixedSizeBinary(8),
            DataType::Time32(TimeUnit::Second),
            DataType::Duration(TimeUnit::Second),
            DataType::Interval(IntervalUnit::DayTime),
            DataType::Decimal128(9, 2),
            DataType::Decimal128(9, -2),
            DataType::Decimal32(9, 0),
            DataType::Decimal256(40, 0),
            DataType::Struct(vec![Field::new("a", DataType::Int8, true)].into()),
        ] {
            for wrapped in [
                data_type.clone(),
                dictionary(data_type.clone()),
                runs(Field::new("v", data_type.clone(), true)),
            ] {
                assert_eq!(key_type(&Field::new("column", wrapped, true)), Err(NoKey::Type(&data_type)));
            }
        }
    }
}
