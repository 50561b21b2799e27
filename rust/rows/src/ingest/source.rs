//! Where the rows come from.

use std::path::PathBuf;

use arrow_array::RecordBatchReader;
use dpsel_exact::error::quoted;
use dpsel_exact::{Error, Result};

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
    /// What stands around fields with delimiters; without it no field has any.
    pub(super) quote: Option<u8>,
    /// What stands before a quote within quotes; without it a quote is doubled.
    pub(super) escape: Option<u8>,
}

impl Dialect {
    /// Commas, and a header line.
    pub const COMMAS: Self = Self { delimiter: b',', header: true, quote: Some(b'"'), escape: None };
    /// Tabs, and a header line.
    pub const TABS: Self = Self { delimiter: b'\t', ..Self::COMMAS };

    /// Fields that are separated by one character of ASCII. An empty text stands for no quote, or no escape.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for other texts, for line breaks, and for one character with two meanings.
    pub fn new(delimiter: &str, header: bool, quote: &str, escape: &str) -> Result<Self> {
        let one = |name, text: &str| match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n' | 0) => Ok(*byte),
            _ => Err(Error::parameter(
                name,
                "one character of ASCII, and no line break",
                quoted(text),
                "pass that character",
            )),
        };
        let optional = |name, text: &str| (!text.is_empty()).then(|| one(name, text)).transpose();
        let delimiter = one("delimiter", delimiter)?;
        let (quote, escape) = (optional("quote", quote)?, optional("escape", escape)?);
        // A quote that escapes itself is doubled.
        let escape = escape.filter(|_| escape != quote);
        if Some(delimiter) == quote || Some(delimiter) == escape || (escape.is_some() && quote.is_none()) {
            return Err(Error::Incompatible {
                what: "delimiter, quote and escape are the same, or there is an escape without a quote"
                    .into(),
                fix: "pass three different characters",
            });
        }
        Ok(Self { delimiter, header, quote, escape })
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
