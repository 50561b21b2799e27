//! The type of a column that several files share.

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType};
use dpsel_exact::random::KeyKind;

use crate::ingest::columns::key_kind;

/// The type of a user column in both files. Users are equal if their values are, whatever the width, so only the kind
/// has to agree.
pub(super) fn same_family(a: &DataType, b: &DataType) -> Option<DataType> {
    match (a, b) {
        (DataType::Null, t) | (t, DataType::Null) => Some(t.clone()),
        _ if key_kind(a) == key_kind(b) => Some(a.clone()),
        _ => None,
    }
}

/// The narrowest type that holds the values of both types; `None` if there is none.
pub(super) fn widest(a: &DataType, b: &DataType) -> Option<DataType> {
    if a == b {
        return Some(a.clone());
    }
    match (same_family(a, b)?, key_kind(a), a, b) {
        (t, ..) if *a == DataType::Null || *b == DataType::Null => Some(t),
        (_, Some(KeyKind::Integer), ..) => widest_integer(a, b),
        (_, Some(KeyKind::Text), ..) => Some(DataType::LargeUtf8),
        (_, Some(KeyKind::Binary), ..) => Some(DataType::LargeBinary),
        (_, Some(KeyKind::Date), ..) => Some(DataType::Date64),
        _ => None,
    }
}

fn widest_integer(a: &DataType, b: &DataType) -> Option<DataType> {
    match (a, b) {
        (DataType::Decimal128(ours, _), DataType::Decimal128(theirs, _)) => {
            return Some(DataType::Decimal128(*ours.max(theirs), 0));
        }
        // All digits of an integer of 64 bits fit the largest precision.
        (DataType::Decimal128(..), _) | (_, DataType::Decimal128(..)) => {
            return Some(DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0));
        }
        _ => {}
    }
    let width = DataType::primitive_width;
    if a.is_unsigned_integer() == b.is_unsigned_integer() {
        return Some(if width(a)? >= width(b)? { a.clone() } else { b.clone() });
    }
    let (unsigned, signed) = if a.is_unsigned_integer() { (a, b) } else { (b, a) };
    match (2 * width(unsigned)?).max(width(signed)?) {
        2 => Some(DataType::Int16),
        4 => Some(DataType::Int32),
        8 => Some(DataType::Int64),
        _ => None,
    }
}
