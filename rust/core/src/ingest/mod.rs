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
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod utf8;

pub(crate) use encode::{Codes, OwnCodes, Sink};
pub(crate) use files::csv_field;
pub use files::{FolderValues, RowFilter, WholeFile};
pub use items::{Code, ItemCode, ItemSchema, Key, KeyStore, Payload, Side, UserCode, sorted};
pub(crate) use layout::ColumnLayout;
pub use names::{Columns, LONGEST_NGRAM, NGrams, Unit, UserColumns};
pub use open::{
    Declared, check_files, check_names, check_schema, filter_rows, item_schema, named_files, whole_files,
};
pub(crate) use open::{OpenSource, again, layout};
pub(crate) use public::ListedTypes;
pub use public::{Members, Prior, PublicList};
pub use source::{Dialect, FileFormat, Source};
