//! Files in: paths and patterns expanded, schemas agreed on, and one task per part of a file.

mod csv;
mod expand;
mod input;
mod ipc;
mod ndjson;
mod parquet;
mod pipe;
mod reason;
mod text;

use std::path::PathBuf;

pub use self::input::STANDARD_INPUT_NAME;
use super::FileFormat;
use super::encode::{Encoder, Sink};
use super::plan::Plan;
use super::pool::{self, Task};
use crate::ingest::Columns;
use crate::runtime::Control;
use crate::{Error, Result};

/// Files of fewer bytes in total are read without starting threads.
const ALONE: u64 = 256 * 1024;

/// All files of one source, opened and checked, not yet read.
pub(super) struct Files {
    plan: Plan,
    /// Bytes to be read, if known, and the tasks that read them.
    bytes: Option<u64>,
    tasks: Vec<Box<dyn Task + Send>>,
}

/// One file, opened and checked.
struct Opened {
    plan: Plan,
    bytes: Option<u64>,
    tasks: Vec<Box<dyn Task + Send>>,
}

/// Paths and patterns, and how to read what they name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) paths: &'a [PathBuf],
    /// The format of all; `None` takes it from each name.
    pub(super) format: Option<FileFormat>,
    /// Whether errors may quote a path before it turned out to name a file.
    pub(super) quoted: bool,
}

impl Named<'_> {
    /// Check what takes no row.
    ///
    /// # Errors
    /// As [`Files::open`], for paths and for the columns of the first file.
    pub(super) fn check(self, columns: &Columns, control: &Control) -> Result<()> {
        let Some((input, format)) = self.expand(control)?.into_iter().next() else { return Ok(()) };
        if input.on_disk()?.is_none() {
            return Ok(());
        }
        let path = input.name().to_owned();
        reason::guarded(&path, || match format {
            FileFormat::Parquet => parquet::open(input, columns, control).map(drop),
            FileFormat::Csv => csv::open(input, columns).map(drop),
            FileFormat::Ipc => ipc::open(input, columns, control).map(drop),
            FileFormat::NdJson => Ok(()),
        })
    }

    fn expand(&self, control: &Control) -> Result<expand::Found> {
        let (mut found, mut seen) = (Vec::new(), expand::Seen::default());
        for (place, path) in (1..).zip(self.paths) {
            let files = expand::expand(path, self.format, &mut seen, control);
            found.extend(match files {
                Err(error) if !self.quoted => return Err(expand::unquoted(error, place, self.paths.len())),
                files => files?,
            });
        }
        Ok(found)
    }
}

impl Files {
    /// Expand patterns, read every schema, and agree on the types of the needed columns.
    ///
    /// # Errors
    /// [`Error::File`] for files that cannot be read, [`Error::Schema`] for columns that are missing or disagree.
    pub(super) fn open(named: Named<'_>, columns: &Columns, control: &Control) -> Result<Self> {
        let mut all: Option<Self> = None;
        for (input, format) in named.expand(control)? {
            let path = input.name().to_owned();
            let opened = reason::guarded(&path, || match format {
                FileFormat::Parquet => parquet::open(input, columns, control),
                FileFormat::Csv => csv::open(input, columns),
                FileFormat::NdJson => ndjson::open(input, columns),
                FileFormat::Ipc => ipc::open(input, columns, control),
            })?;
            all = Some(match all {
                None => Self { plan: opened.plan, bytes: opened.bytes, tasks: opened.tasks },
                Some(mut all) => {
                    all.plan = all.plan.merge(&opened.plan, &path.display().to_string())?;
                    all.bytes = all.bytes.zip(opened.bytes).map(|(all, one)| all + one);
                    all.tasks.extend(opened.tasks);
                    all
                }
            });
        }
        all.ok_or_else(|| Error::Incompatible {
            what: "no input files were given".into(),
            fix: "name at least one file or pattern",
        })
    }

    /// The agreed types.
    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Read all rows.
    ///
    /// # Errors
    /// The first error of any file.
    pub(super) fn read<S: Sink>(
        self,
        control: &Control,
        encoder: &(dyn Fn() -> Encoder<S> + Sync),
    ) -> Result<()> {
        control.set_size(self.bytes);
        if control.threads() > 1 && self.bytes.is_none_or(|bytes| bytes > ALONE) {
            return pool::run(None, self.tasks, control.threads(), control, encoder);
        }
        let mut encoder = encoder();
        for task in self.tasks {
            task.run(&mut |chunk| pool::encode(&chunk, control, &mut encoder))?;
        }
        Ok(())
    }
}
