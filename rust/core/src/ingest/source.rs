//! Where the rows come from.

use std::path::PathBuf;

use arrow_array::RecordBatchReader;

/// Where the rows come from.
pub enum Source {
    /// A stream of record batches in memory.
    Stream(Box<dyn RecordBatchReader + Send>),
    /// The same, where the named columns have no declared types. Their types were inferred from values, which are of
    /// one kind in each column.
    Undeclared(Box<dyn RecordBatchReader + Send>, Vec<String>),
    /// Files, or glob patterns of files, read in Rust. `None` takes the format from each name. `-` is the standard
    /// input.
    Files(Vec<PathBuf>, Option<FileFormat>),
    /// As `Files`, for elements of a list that may hold texts instead of paths. Errors quote an element only if it
    /// names a file.
    Listed(Vec<PathBuf>, Option<FileFormat>),
}

/// File formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma separated values with a header line; every column is text.
    Csv,
    /// The same with tabs.
    Tsv,
    /// One JSON object per line.
    NdJson,
    /// Arrow IPC, file or stream.
    Ipc,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stream(_) => f.write_str("Source::Stream"),
            Self::Undeclared(_, columns) => f.debug_tuple("Undeclared").field(columns).finish(),
            Self::Files(paths, format) => f.debug_tuple("Files").field(paths).field(format).finish(),
            Self::Listed(_, format) => f.debug_tuple("Listed").field(format).finish_non_exhaustive(),
        }
    }
}
