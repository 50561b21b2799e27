//! Tables in: Arrow record batches, from a stream or from files, become encoded rows.
//!
//! The encoded rows go to a `Sink`. The room above, `contributions`, implements it and groups rows by user.
//!
//! | room | holds |
//! |---|---|
//! | `columns` | views of Arrow columns |
//! | `items` | codes, keys and columns of items |
//! | `layout` | which columns are read, and their types |
//! | `encode` | the hot path from columns to codes |
//! | `files` | Parquet, CSV, NDJSON and Arrow IPC |
//! | `public` | public tables beside the data: the domain of a top-k, the ranks of a greedy order, excluded and public items |

mod columns;
mod encode;
mod files;
mod items;
mod layout;
mod names;
mod open;
mod pool;
mod public;
mod source;
mod stream;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "for unit tests")]
pub mod testing;
#[cfg(test)]
mod tests;
mod utf8;

pub use columns::are_of_one_kind;
pub use encode::{Codes, OwnCodes, Sink};
pub use files::{FolderValues, RowFilter, WholeFile, csv_field};
pub use items::{Code, ItemCode, ItemSchema, Key, KeyStore, Payload, Side, UserCode, sorted};
pub(crate) use items::{with_parts, with_rows};
pub use layout::{ColumnLayout, ListedTypes};
pub use names::{Columns, LEVEL_COLUMN, LONGEST_NGRAM, Levels, MOST_LEVELS, NGrams, Unit, UserColumns};
pub use open::{
    Declared, OpenSource, again, check_files, check_names, check_schema, filter_rows, item_schema, layout,
    named_files, whole_files,
};
pub use public::{DOMAIN, Members, Prior, PublicList};
pub use source::{Dialect, FileFormat, Source};
