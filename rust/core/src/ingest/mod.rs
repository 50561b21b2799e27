//! Tables in: Arrow record batches, from a stream or from files, become encoded rows.

mod schema;

use std::path::PathBuf;

use arrow_array::RecordBatchReader;

pub use schema::{ItemSchema, sorted};

use crate::Result;
use crate::contributions::Contributions;
use crate::control::Control;
use crate::random::ReleaseKey;
use crate::request::Columns;

/// Where the rows come from.
pub enum Source {
    /// A stream of record batches in memory.
    Stream(Box<dyn RecordBatchReader + Send>),
    /// Files, or glob patterns of files, read in Rust; `None` takes the format from each name.
    Files(Vec<PathBuf>, Option<FileFormat>),
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
            Self::Files(paths, format) => f.debug_tuple("Files").field(paths).field(format).finish(),
        }
    }
}

/// Read everything, intern users and items, and group by user.
///
/// # Errors
/// See [`crate::Error`]: missing columns, unsupported types, null users, unreadable files.
pub fn read(source: Source, columns: &Columns, key: &ReleaseKey, control: &Control) -> Result<Contributions> {
    let _ = (source, columns, key, control);
    todo!()
}
