//! Files in: paths and patterns expanded, schemas agreed on, and one task per part of a file.

mod csv;
mod expand;
mod ipc;
mod ndjson;
mod parquet;
mod reason;
mod text;

use std::path::PathBuf;

use super::FileFormat;
use super::encode::{Encoder, Sink};
use super::plan::Plan;
use super::pool::{self, Task};
use crate::control::Control;
use crate::request::Columns;
use crate::{Error, Result};

/// Files of fewer bytes in total are read without starting threads.
const ALONE: u64 = 256 * 1024;

/// All files of one source, opened and checked, not yet read.
pub(super) struct Files {
    plan: Plan,
    /// Bytes to be read and the tasks that read them.
    bytes: u64,
    tasks: Vec<Box<dyn Task + Send>>,
}

/// One file, opened and checked.
struct Opened {
    plan: Plan,
    bytes: u64,
    tasks: Vec<Box<dyn Task + Send>>,
}

impl Files {
    /// Expand patterns, read every schema, and agree on the types of the needed columns.
    ///
    /// # Errors
    /// [`Error::File`] for files that cannot be read, [`Error::Schema`] for columns that are missing or disagree.
    pub(super) fn open(paths: &[PathBuf], format: Option<FileFormat>, columns: &Columns) -> Result<Self> {
        let mut all: Option<Self> = None;
        for path in expand::expand(paths)? {
            let format = match format {
                Some(format) => format,
                None => expand::format_of(&path)?,
            };
            let name = path.display().to_string();
            let opened = reason::guarded(&path, || match format {
                FileFormat::Parquet => parquet::open(&path, columns),
                FileFormat::Csv => csv::open(&path, columns),
                FileFormat::NdJson => ndjson::open(&path, columns),
                FileFormat::Ipc => ipc::open(&path, columns),
            })?;
            all = Some(match all {
                None => Self { plan: opened.plan, bytes: opened.bytes, tasks: opened.tasks },
                Some(mut all) => {
                    all.plan = all.plan.merge(&opened.plan, &name)?;
                    all.bytes += opened.bytes;
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
        control.set_total(self.bytes);
        if control.threads() > 1 && self.bytes > ALONE {
            return pool::run(None, self.tasks, control.threads(), control, encoder);
        }
        let mut encoder = encoder();
        for task in self.tasks {
            task.run(&mut |chunk| pool::encode(&chunk, control, &mut encoder))?;
        }
        Ok(())
    }
}
