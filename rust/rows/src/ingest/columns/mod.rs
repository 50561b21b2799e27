//! Views of Arrow columns: one view over every accepted type.
//!
//! Columns are normalised once per batch, without a copy where the memory layout allows it. The rooms above know only
//! five layouts. The canonical encodings are stated in `docs/algorithms/canonical-keys.md`.

mod bytes;
mod dictionaries;
mod flat;
mod kinds;
mod lists;
mod nulls;

pub(super) use bytes::{ByteColumn, PackedBytes};
pub(super) use dictionaries::{decode_runs, dictionary_keys, plain_values};
pub(super) use flat::{Flat, IntegerValues, Values};
pub use kinds::are_of_one_kind;
pub(super) use kinds::{
    DAY_MILLISECONDS, JSON, UUID, element, element_key_type, element_type, key_kind, key_type, scale,
    unsupported, unsupported_type, value_type,
};
pub(super) use lists::explode;
pub(super) use nulls::{drop_nulls, filter};
