//! Casts that lose nothing.

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ord::cmp::not_distinct;
use arrow_schema::DataType;
use dpsel_exact::random::KeyKind;

use crate::ingest::columns::key_kind;

/// Why a column cannot be cast.
pub(super) enum Failure {
    /// No value of the first type is a value of the second.
    Type,
    /// The value in this row has no exact counterpart.
    Item(usize),
}

/// The same values in another type, if every cast is exact.
pub(super) fn exactly(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    let from = column.data_type();
    let (Some(ours), Some(theirs)) = (key_kind(from), key_kind(to)) else { return Err(Failure::Type) };
    // A column of the null type has no values, so no item of the list can be in the data.
    if from == to || to == &DataType::Null {
        return Ok(ArrayRef::clone(column));
    }
    if column.is_empty() {
        return Ok(new_empty_array(to));
    }
    if ours != theirs && !is_written(ours, theirs) {
        return Err(Failure::Type);
    }
    let options = CastOptions { safe: true, ..CastOptions::default() };
    // The keys of `Date64` are days, but Arrow writes and reads milliseconds.
    if ours == KeyKind::Text && to == &DataType::Date64 {
        return cast_with_options(&exactly(column, &DataType::Date32)?, to, &options)
            .map_err(|_| Failure::Type);
    }
    let there = cast_with_options(column, to, &options).map_err(|_| Failure::Type)?;
    let back = cast_with_options(&there, from, &options).map_err(|_| Failure::Type)?;
    let same = not_distinct(&back, column).map_err(|_| Failure::Type)?;
    match same.values().iter().position(|same| !same) {
        Some(row) => Err(Failure::Item(row)),
        None => Ok(there),
    }
}

/// Whether text can stand for values of the second kind: each value has exactly one text.
fn is_written(from: KeyKind, to: KeyKind) -> bool {
    let has_text = match to {
        KeyKind::Integer | KeyKind::Boolean | KeyKind::Date | KeyKind::Timestamp | KeyKind::Instant => true,
        KeyKind::Text | KeyKind::Binary | KeyKind::Composite => false,
    };
    from == KeyKind::Text && has_text
}
