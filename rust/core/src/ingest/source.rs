//! Where the rows come from.

use std::path::PathBuf;

use arrow_array::RecordBatchReader;

use crate::error::quoted;
use crate::{Error, Result};

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
    /// Fields between delimiters, a record in each line; every column is text.
    Csv(Dialect),
    /// One JSON object per line.
    NdJson,
    /// Arrow IPC, file or stream.
    Ipc,
}

/// How the fields of a text file are told apart and named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    delimiter: u8,
    /// Whether the first line has the names of the columns. Otherwise they are `column_1`, `column_2`, ...
    pub header: bool,
}

impl Dialect {
    /// Commas, and a header line.
    pub const COMMAS: Self = Self { delimiter: b',', header: true };
    /// Tabs, and a header line.
    pub const TABS: Self = Self { delimiter: b'\t', header: true };

    /// Fields that are separated by one character of ASCII.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for other texts, for quotes and for line breaks.
    pub fn new(delimiter: &str, header: bool) -> Result<Self> {
        match delimiter.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0) => {
                Ok(Self { delimiter: *byte, header })
            }
            _ => Err(Error::parameter(
                "delimiter",
                "one character of ASCII, and no quote or line break",
                quoted(delimiter),
                "pass the character between two fields, such as ';'",
            )),
        }
    }

    /// The byte between two fields.
    #[must_use]
    pub fn delimiter(self) -> u8 {
        self.delimiter
    }
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
