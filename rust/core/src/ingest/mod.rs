//! Tables in: Arrow record batches, from a stream or from files, become encoded rows.

mod coder;
mod columns;
mod composite;
mod encode;
mod files;
mod found;
mod frequent;
mod lists;
mod names;
mod plan;
mod pool;
mod prior;
mod public;
mod schema;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod users;
mod utf8;

use std::path::PathBuf;

use arrow_array::RecordBatchReader;
use arrow_schema::{DataType, Field, Schema};

pub use files::STANDARD_INPUT_NAME;
pub use names::{Columns, NGrams};
pub use prior::Prior;
pub(crate) use public::Given;
pub use public::PublicList;
pub use schema::{ItemSchema, sorted};

use crate::Result;
use crate::contributions::{Contributions, ContributionsBuilder, ItemOrder};
use crate::random::ReleaseKey;
use crate::runtime::Control;

/// Where the rows come from.
pub enum Source {
    /// A stream of record batches in memory.
    Stream(Box<dyn RecordBatchReader + Send>),
    /// The same, where the types of the named columns are not declared but were found out from values, each of one kind.
    Found(Box<dyn RecordBatchReader + Send>, Vec<String>),
    /// Files, or glob patterns of files, read in Rust; `None` takes the format from each name. `-` is the standard input.
    Files(Vec<PathBuf>, Option<FileFormat>),
    /// As `Files`, elements of a list that may hold texts in place of paths: errors quote none before it turned out
    /// to name a file.
    Listed(Vec<PathBuf>, Option<FileFormat>),
}

/// File formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma separated values with a header line; every column is text.
    Csv,
    /// One JSON object per line.
    NdJson,
    /// Arrow IPC, file or stream.
    Ipc,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stream(_) => f.write_str("Source::Stream"),
            Self::Found(_, columns) => f.debug_tuple("Found").field(columns).finish(),
            Self::Files(paths, format) => f.debug_tuple("Files").field(paths).field(format).finish(),
            Self::Listed(_, format) => f.debug_tuple("Listed").field(format).finish_non_exhaustive(),
        }
    }
}

/// By what each user's items are put in order.
#[derive(Debug, Clone, Copy)]
pub enum Preference<'a> {
    /// Nothing.
    Any,
    /// The user's number of rows of each item.
    OwnCounts,
    /// A public table.
    Prior(&'a Prior),
}

impl Preference<'_> {
    fn order(self, columns: &Columns, plan: &plan::Plan, key: &ReleaseKey) -> Result<ItemOrder> {
        Ok(match self {
            Self::Any => ItemOrder::Any,
            Self::OwnCounts => ItemOrder::OwnCounts,
            Self::Prior(prior) => ItemOrder::Ranks(prior.ranks(columns, plan, key)?),
        })
    }
}

/// Check the columns of a table without reading its rows.
///
/// # Errors
/// As [`read`], for missing columns and types that are not supported.
pub fn check_schema(schema: &Schema, columns: &Columns) -> Result<()> {
    item_schema(schema, columns).map(drop)
}

/// Check that a table with columns of these names has the needed ones, each once.
///
/// # Errors
/// [`crate::Error::Schema`], as [`read`].
pub fn check_names(names: Vec<String>, columns: &Columns) -> Result<()> {
    let fields: Vec<_> = names.into_iter().map(|name| Field::new(name, DataType::Null, true)).collect();
    plan::Positions::find(&Schema::new(fields), columns, stream::NAME).map(drop)
}

/// Check what takes no row of files: whether they are there, and whether the first of them has the columns. What is read
/// once is left alone, and so are the columns of NDJSON, which only its rows tell.
///
/// # Errors
/// As [`read`]; for a source that is no file [`crate::Error::Internal`].
pub fn check_files(source: &Source, columns: &Columns, control: &Control) -> Result<()> {
    let named = match source {
        Source::Files(paths, format) => files::Named { paths, format: *format, quoted: true },
        Source::Listed(paths, format) => files::Named { paths, format: *format, quoted: false },
        Source::Stream(_) | Source::Found(..) => return Err(crate::Error::Internal("a stream is no file")),
    };
    named.check(columns, control)
}

/// The types of the released items of such a table.
///
/// # Errors
/// As [`check_schema`].
pub fn item_schema(schema: &Schema, columns: &Columns) -> Result<ItemSchema> {
    plan::Plan::new(schema, columns, stream::NAME)?.0.item_schema()
}

/// Read everything, intern users and items, and group by user, each user's items in the order of the preference.
///
/// Rows of a null item are dropped, with several item columns rows where any of them is null. Progress is
/// counted in bytes for files (with a total) and in rows for streams (without).
///
/// # Errors
/// See [`crate::Error`]: missing columns, unsupported types, null users, unreadable files.
pub fn read(
    source: Source,
    columns: &Columns,
    preference: Preference<'_>,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Contributions> {
    Opened::new(source, columns, control)?.read(columns, preference, key, control)
}

/// As [`read`], beside a public list, which is checked before any row is read: as rows to be read, and how its items come back.
///
/// # Errors
/// As [`read`], and [`crate::Error::Schema`] if items of the list cannot be items of the data.
pub(crate) fn read_beside(
    source: Source,
    list: Option<&PublicList>,
    columns: &Columns,
    key: &ReleaseKey,
    control: &Control,
) -> Result<(Contributions, Option<(Source, Given)>)> {
    let opened = Opened::new(source, columns, control)?;
    let list = list.map(|list| list.in_types_of(opened.plan(), columns)).transpose()?;
    Ok((opened.read(columns, Preference::Any, key, control)?, list))
}

/// A source whose columns are known.
enum Opened {
    Stream(Box<dyn RecordBatchReader + Send>, plan::Plan, plan::Positions),
    Files(files::Files),
}

impl Opened {
    fn new(source: Source, columns: &Columns, control: &Control) -> Result<Self> {
        let stream = |reader: Box<dyn RecordBatchReader + Send>, found: &[String]| {
            let (plan, positions) = plan::Plan::new(&reader.schema(), columns, stream::NAME)?;
            let plan = plan.found_out(|name| found.iter().any(|found| found == name));
            Ok(Self::Stream(reader, plan, positions))
        };
        let files = |paths: &[PathBuf], format, quoted| {
            files::Files::open(files::Named { paths, format, quoted }, columns, control).map(Self::Files)
        };
        match source {
            Source::Stream(reader) => stream(reader, &[]),
            Source::Found(reader, found) => stream(reader, &found),
            Source::Files(paths, format) => files(&paths, format, true),
            Source::Listed(paths, format) => files(&paths, format, false),
        }
    }

    fn plan(&self) -> &plan::Plan {
        match self {
            Self::Stream(_, plan, _) => plan,
            Self::Files(files) => files.plan(),
        }
    }

    fn read(
        self,
        columns: &Columns,
        preference: Preference<'_>,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Contributions> {
        let plan = self.plan().clone();
        let schema = plan.item_schema()?;
        let order = preference.order(columns, &plan, key)?;
        let builder = ContributionsBuilder::new(schema.layout(), control);
        let encoder = || encode::Encoder::new(&plan, key, builder.worker());
        match self {
            Self::Stream(reader, _, positions) => stream::read(reader, positions, control, &encoder)?,
            Self::Files(files) => files.read(control, &encoder)?,
        }
        builder.finish(schema, &order)
    }
}
