//! All files of one source: expanded, opened, and read.

use std::path::PathBuf;

use dpsel_exact::{Error, Result};

use super::hive::FolderColumns;
use super::input::Input;
use super::open_file::OpenFile;
use super::{csv, expand, ipc, ndjson, parquet, reason};
use crate::ingest::encode::{Encoder, Sink};
use crate::ingest::layout::{ColumnLayout, roles};
use crate::ingest::names::Columns;
use crate::ingest::pool::{self, Task};
use crate::ingest::source::FileFormat;
use crate::runtime::Control;

/// Files of fewer bytes in total are read by the calling thread alone.
const SINGLE_THREADED: u64 = 256 * 1024;

/// Where the types of the other files come from, and what mends others.
const BEFORE: (&str, &str) = ("files before it", "give all files of one source the same column types");

/// A file, with the place of the path that names it.
pub(super) type PlacedFile = (usize, expand::NamedFile);

/// Columns that folders tell, with their values.
pub type FolderValues = Vec<(String, Option<String>)>;

/// All files of one source: opened and checked, not yet read.
pub(in crate::ingest) struct Files {
    layout: ColumnLayout,
    folders: FolderColumns,
    /// Bytes to be read, if known.
    bytes: Option<u64>,
    /// At most so many rows have a user and an item, as far as files say so.
    rows: u64,
    tasks: Vec<Box<dyn Task + Send>>,
}

/// Paths and patterns, and how to read what they name.
#[derive(Debug, Clone, Copy)]
pub(in crate::ingest) struct FileList<'a> {
    pub(in crate::ingest) paths: &'a [PathBuf],
    /// The format of all; `None` takes it from each name.
    pub(in crate::ingest) format: Option<FileFormat>,
    /// Whether errors may quote a path that does not name a file.
    pub(in crate::ingest) quoted: bool,
}

impl FileList<'_> {
    /// Check the paths, and the columns of all files, without reading a row. The types of the columns come back if all
    /// files have shown them.
    ///
    /// Pipes and NDJSON are left out: both show their columns only when their rows are read.
    ///
    /// # Errors
    /// As [`Files::open`].
    pub(in crate::ingest) fn check(
        self,
        columns: &Columns,
        control: &Control,
    ) -> Result<Option<ColumnLayout>> {
        let (mut files, all) = (Vec::new(), self.placed(control)?);
        let named = all.len();
        for (place, (input, format)) in all {
            if format != FileFormat::NdJson && input.on_disk()?.is_some() {
                files.push((place, (input, format)));
            }
        }
        let are_all = files.len() == named;
        let checked = Files::merged(self, files, columns, control)?;
        Ok(checked.filter(|_| are_all).map(|files| files.layout))
    }

    /// Whether no file is a pipe, so that all can be read twice.
    ///
    /// # Errors
    /// As [`Files::open`], for paths.
    pub(in crate::ingest) fn is_on_disk(self, control: &Control) -> Result<bool> {
        for (input, _) in self.expand(control)? {
            if input.size()?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The files. No file is opened.
    ///
    /// # Errors
    /// As [`Files::open`], for paths.
    pub(in crate::ingest) fn named(self, control: &Control) -> Result<Vec<PathBuf>> {
        Ok(self.expand(control)?.into_iter().map(|(input, _)| input.name().to_owned()).collect())
    }

    /// The needed columns that the folders of a file tell. Those of other formats than Parquet tell none.
    pub(super) fn folders(
        &self,
        input: &Input,
        place: usize,
        format: FileFormat,
        is_needed: impl Fn(&str) -> bool,
    ) -> Result<FolderColumns> {
        match (self.paths.get(place).filter(|_| format == FileFormat::Parquet), input.size()?) {
            (Some(given), Some(_)) => FolderColumns::of(input.name(), given, is_needed),
            // A pipe stands in no folder of a table.
            (None, _) | (_, None) => Ok(FolderColumns::default()),
        }
    }

    pub(super) fn expand(&self, control: &Control) -> Result<Vec<expand::NamedFile>> {
        Ok(self.placed(control)?.into_iter().map(|(_, file)| file).collect())
    }

    pub(super) fn placed(&self, control: &Control) -> Result<Vec<PlacedFile>> {
        let (mut all, mut seen) = (Vec::new(), expand::Seen::default());
        for (place, path) in self.paths.iter().enumerate() {
            let files = match expand::expand(path, self.format, &mut seen, control) {
                Err(error) if !self.quoted => {
                    return Err(expand::unquoted(error, place + 1, self.paths.len()));
                }
                files => files?,
            };
            all.extend(files.into_iter().map(|file| (place, file)));
        }
        Ok(all)
    }
}

impl Files {
    /// Expand patterns, read every schema, and merge the types of the needed columns.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read; [`Error::Schema`] for a column that is missing or whose types
    /// differ.
    pub(in crate::ingest) fn open(list: FileList<'_>, columns: &Columns, control: &Control) -> Result<Self> {
        Self::merged(list, list.placed(control)?, columns, control)?.ok_or_else(|| Error::Incompatible {
            what: "no input files were given".into(),
            fix: "name at least one file or pattern",
        })
    }

    pub(super) fn merged(
        list: FileList<'_>,
        files: Vec<PlacedFile>,
        columns: &Columns,
        control: &Control,
    ) -> Result<Option<Self>> {
        let mut all: Option<Self> = None;
        for (place, (input, format)) in files {
            let path = input.name().to_owned();
            let is_needed = |name: &str| roles(columns).any(|(_, needed)| needed == name);
            let folders = list.folders(&input, place, format, is_needed)?;
            if let Some(Self { folders: first, .. }) = &all {
                first.check_within(&folders)?;
            }
            let opened: OpenFile = reason::guarded(&path, || match format {
                FileFormat::Parquet => parquet::open(input, folders, columns, control),
                FileFormat::Csv(dialect) => csv::open(input, columns, dialect),
                FileFormat::NdJson => ndjson::open(input, columns),
                FileFormat::Ipc => ipc::open(input, columns, control),
            })?;
            all = Some(match all {
                None => {
                    let OpenFile { layout, folders, bytes, rows, tasks } = opened;
                    Self { layout, folders, bytes, rows, tasks }
                }
                Some(mut all) => {
                    opened.folders.check_same(&all.folders)?;
                    all.layout = all.layout.merge(&opened.layout, &path.display().to_string(), BEFORE)?;
                    all.bytes = all.bytes.zip(opened.bytes).map(|(all, one)| all + one);
                    all.rows = all.rows.saturating_add(opened.rows);
                    all.tasks.extend(opened.tasks);
                    all
                }
            });
        }
        Ok(all)
    }

    /// The merged types of the columns.
    pub(in crate::ingest) fn layout(&self) -> &ColumnLayout {
        &self.layout
    }

    /// At most so many rows have a user and an item, as far as files say so before they are read.
    pub(in crate::ingest) fn known_rows(&self) -> u64 {
        self.rows
    }

    /// Read all rows, and do nothing with them.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn read_through(self, control: &Control) -> Result<()> {
        self.tasks.into_iter().try_for_each(|task| task.run(&mut |_| control.check()))
    }

    /// Read all rows.
    ///
    /// # Errors
    /// The first error of any file.
    pub(in crate::ingest) fn read<S: Sink>(
        self,
        control: &Control,
        encoder: &(dyn Fn() -> Encoder<S> + Sync),
    ) -> Result<()> {
        control.set_size(self.bytes);
        if control.threads() > 1 && self.bytes.is_none_or(|bytes| bytes > SINGLE_THREADED) {
            return pool::run(None, self.tasks, control.threads(), control, encoder);
        }
        let mut encoder = encoder();
        for task in self.tasks {
            task.run(&mut |chunk| pool::encode(&chunk, control, &mut encoder))?;
        }
        Ok(())
    }
}
