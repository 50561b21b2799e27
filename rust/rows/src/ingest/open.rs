//! A source whose columns are checked, ready to deliver its rows.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use arrow_array::RecordBatchReader;
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};

use super::encode::{Encoder, Sink};
use super::files::{self, FileList, Files, RowFilter, WholeFile};
use super::items::ItemSchema;
use super::layout::{ColumnLayout, Positions};
use super::names::{Columns, INPUT_NAME};
use super::source::Source;
use super::stream;
use crate::runtime::Control;

/// What a source declares of its columns before a row is read.
#[derive(Debug)]
pub struct Declared(Option<ColumnLayout>);

impl Declared {
    /// The types of the columns, if the source declares those of all items.
    #[must_use]
    pub fn types(&self) -> Option<&ColumnLayout> {
        self.0.as_ref().filter(|layout| !layout.undeclared().any(|undeclared| undeclared))
    }
}

/// Check the columns of a table without reading its rows. It declares no types for the columns `undeclared`.
///
/// # Errors
/// [`Error::Schema`] for a missing column or a type that is not supported.
pub fn check_schema(schema: &Schema, columns: &Columns, undeclared: &[String]) -> Result<Declared> {
    let (layout, _) = ColumnLayout::new(schema, columns, INPUT_NAME)?;
    let layout = layout.check_users(INPUT_NAME)?;
    Ok(Declared(Some(layout.with_undeclared(|name| undeclared.iter().any(|undeclared| undeclared == name)))))
}

/// Check that a table with columns of these names has the needed ones, each once.
///
/// # Errors
/// [`Error::Schema`] for a column that is missing or ambiguous.
pub fn check_names(names: Vec<String>, columns: &Columns) -> Result<()> {
    let fields: Vec<_> = names.into_iter().map(|name| Field::new(name, DataType::Null, true)).collect();
    Positions::find(&Schema::new(fields), columns, INPUT_NAME).map(drop)
}

/// Check files without reading a row: whether they exist, have the columns, and agree on the kinds of their keys.
///
/// Pipes are left alone, because they can be read only once. So are the columns of NDJSON, which only its rows show.
///
/// # Errors
/// As [`OpenSource::open`]; [`Error::Internal`] for a source that is not a file.
pub fn check_files(source: &Source, columns: &Columns, control: &Control) -> Result<Declared> {
    let layout = list_of(source)?.check(columns, control)?;
    Ok(Declared(layout.map(|layout| layout.check_users(INPUT_NAME)).transpose()?))
}

/// The files that a source names. No file is opened.
///
/// # Errors
/// As [`check_files`], for paths.
pub fn named_files(source: &Source, control: &Control) -> Result<Vec<PathBuf>> {
    list_of(source)?.named(control)
}

/// The files of a source, of which the item columns were read to their ends as in a selection.
///
/// # Errors
/// As [`OpenSource::open`] and [`OpenSource::deliver`].
pub fn whole_files(source: &Source, items: Vec<String>, control: &Control) -> Result<Vec<WholeFile>> {
    files::whole(list_of(source)?, items, control)
}

/// Copy the rows of text files that a filter lets through.
///
/// # Errors
/// As [`OpenSource::open`]; [`Error::File`] if they cannot be written.
pub fn filter_rows(
    source: &Source,
    filter: &RowFilter<'_>,
    control: &Control,
    out: &mut dyn Write,
) -> Result<()> {
    files::filter(list_of(source)?, filter, control, out)
}

fn list_of(source: &Source) -> Result<FileList<'_>> {
    match source {
        Source::Files(paths, format) => Ok(FileList { paths, format: *format, quoted: true }),
        Source::Listed(paths, format) => Ok(FileList { paths, format: *format, quoted: false }),
        Source::Stream(_) | Source::Undeclared(..) => Err(Error::Internal("a stream is no file")),
    }
}

/// The same files, to be read once more; `None` for a source that can be read only once.
///
/// # Errors
/// As [`OpenSource::open`], for paths.
pub fn again(source: &Source, control: &Control) -> Result<Option<Source>> {
    let (list, again) = match source {
        Source::Files(paths, format) => {
            (FileList { paths, format: *format, quoted: true }, Source::Files(paths.clone(), *format))
        }
        Source::Listed(paths, format) => {
            (FileList { paths, format: *format, quoted: false }, Source::Listed(paths.clone(), *format))
        }
        Source::Stream(_) | Source::Undeclared(..) => return Ok(None),
    };
    Ok(list.is_on_disk(control)?.then_some(again))
}

/// The types of the released items of a table with this schema.
///
/// # Errors
/// As [`check_schema`].
pub fn item_schema(schema: &Schema, columns: &Columns) -> Result<ItemSchema> {
    layout(schema, columns)?.item_schema()
}

/// The columns of a table with this schema.
///
/// # Errors
/// As [`check_schema`].
pub fn layout(schema: &Schema, columns: &Columns) -> Result<ColumnLayout> {
    Ok(ColumnLayout::new(schema, columns, INPUT_NAME)?.0)
}

/// A source whose columns are checked.
pub struct OpenSource(Opened);

impl fmt::Debug for OpenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSource").finish_non_exhaustive()
    }
}

enum Opened {
    Stream(Box<dyn RecordBatchReader + Send>, ColumnLayout, Positions),
    Files(Files),
}

impl OpenSource {
    /// Find and check the columns; no row is read yet.
    ///
    /// # Errors
    /// See [`Error`]: missing columns, unsupported types, files that cannot be read.
    pub fn open(source: Source, columns: &Columns, control: &Control) -> Result<Self> {
        let opened = match source {
            Source::Stream(reader) => stream(reader, columns, &[])?,
            Source::Undeclared(reader, undeclared) => stream(reader, columns, &undeclared)?,
            Source::Files(paths, format) => {
                let list = FileList { paths: &paths, format, quoted: true };
                Opened::Files(Files::open(list, columns, control)?)
            }
            Source::Listed(paths, format) => {
                let list = FileList { paths: &paths, format, quoted: false };
                Opened::Files(Files::open(list, columns, control)?)
            }
        };
        Ok(Self(opened))
    }

    /// The types of the user and item columns.
    #[must_use]
    pub fn layout(&self) -> &ColumnLayout {
        match &self.0 {
            Opened::Stream(_, layout, _) => layout,
            Opened::Files(files) => files.layout(),
        }
    }

    /// At most so many rows have a user and an item, as far as that is known before they are read.
    #[must_use]
    pub fn known_rows(&self) -> u64 {
        match &self.0 {
            Opened::Stream(..) => 0,
            Opened::Files(files) => files.known_rows(),
        }
    }

    /// Read, encode and deliver all rows. Each thread has a sink of its own.
    ///
    /// Rows of a null item are dropped. With several item columns, rows with a null in any of them are dropped.
    /// Progress is counted in bytes for files (with a total) and in rows for streams (without a total).
    ///
    /// # Errors
    /// See [`Error`]: null users, malformed files, a limit of memory, an interruption.
    pub fn deliver<S: Sink>(
        self,
        key: &ReleaseKey,
        control: &Control,
        sink: impl Fn() -> S + Sync,
    ) -> Result<()> {
        let layout = self.layout().clone();
        let encoder = || Encoder::new(&layout, key, sink());
        match self.0 {
            Opened::Stream(reader, _, positions) => stream::read(reader, positions, control, &encoder),
            Opened::Files(files) => files.read(control, &encoder),
        }
    }
}

fn stream(
    reader: Box<dyn RecordBatchReader + Send>,
    columns: &Columns,
    undeclared: &[String],
) -> Result<Opened> {
    let (layout, positions) = ColumnLayout::new(&reader.schema(), columns, INPUT_NAME)?;
    let layout = layout.with_undeclared(|name| undeclared.iter().any(|undeclared| undeclared == name));
    Ok(Opened::Stream(reader, layout, positions))
}
