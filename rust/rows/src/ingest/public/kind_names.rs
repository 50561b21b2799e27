//! Names of types in errors about public tables.

use arrow_schema::DataType;
use dpsel_exact::random::KeyKind;

use crate::ingest::columns::key_kind;

/// The values of a type, with the type.
pub(super) fn type_name(data_type: &DataType) -> String {
    format!("{} ({data_type})", kind_name(data_type))
}

/// The values of a type.
pub(in crate::ingest) fn kind_name(data_type: &DataType) -> &'static str {
    match key_kind(data_type) {
        Some(KeyKind::Integer) => "integers",
        Some(KeyKind::Boolean) => "booleans",
        Some(KeyKind::Date) => "dates",
        Some(KeyKind::Timestamp) => "timestamps without a time zone",
        Some(KeyKind::Instant) => "timestamps with a time zone",
        Some(KeyKind::Text) => "text",
        Some(KeyKind::Binary) => "bytes",
        Some(KeyKind::Composite) | None => "other values",
    }
}

/// How the items of a public table must be given.
pub(super) fn fix(name: &str, data_type: &DataType) -> String {
    let form = match key_kind(data_type) {
        Some(KeyKind::Integer) => "integers in its range, or as text in plain decimal (12, not 012)",
        Some(KeyKind::Boolean) => "True and False, or as the text true and false",
        Some(KeyKind::Date) => "dates, or as text like 2024-01-31",
        Some(KeyKind::Timestamp) => "datetimes without a time zone, or as text like 2024-01-31T12:00:00",
        Some(KeyKind::Instant) => {
            "datetimes with a time zone, or as text with the offset of the column's zone, like 2024-01-31T12:00:00Z in UTC"
        }
        Some(KeyKind::Text) => {
            "text, in the form that they have in the data (in CSV files all items are text)"
        }
        Some(KeyKind::Binary) => "bytes",
        Some(KeyKind::Composite) | None => "values of its type",
    };
    format!("give the items of {name} as {form}")
}
