//! What is kept of rows on their way to scratch: users with their items, the users of items, names.

mod census;
mod direct_rows;
mod names;
mod rows;

pub(super) use census::frequent;
pub(super) use names::Lookup;
pub(super) use rows::{Read, RowSink, StoredRows, TakenOut, Wanted};
