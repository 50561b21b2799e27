//! Where the rows of a job go beyond memory, and how much memory they take before.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use dpsel_core::task::Request;
use dpsel_engines::disk;
use dpsel_exact::{Error, Result};
use dpsel_rows::runtime::Control;
use dpsel_rows::scratch::ScratchSpace;
use pyo3::prelude::*;

use crate::error::to_python;

/// What a caller says of rows that do not fit into memory.
pub(crate) enum ScratchArgument {
    /// They are an error.
    Nowhere,
    /// They go to a folder.
    Folder(ScratchSpace),
    /// They go to a folder that a function finds, with the bytes of memory that are free, when there are more than a few
    /// rows. A mechanism that needs all rows in memory has them there.
    Found { find: Py<PyAny>, limit: Option<u64> },
}

/// The limits of one run. No release depends on them.
pub(crate) struct RunLimits {
    pub(crate) control: Control,
    pub(crate) scratch: Option<ScratchSpace>,
}

impl ScratchArgument {
    /// `scratch` is a folder, or a function that finds one: it returns a folder or `None`, and the bytes of memory that
    /// are free or `None`.
    pub(crate) fn new(scratch: Option<&Bound<'_, PyAny>>, limit: Option<NonZeroU64>) -> PyResult<Self> {
        let limit = limit.map(NonZeroU64::get);
        match scratch {
            Some(find) if find.is_callable() => Ok(Self::Found { find: find.clone().unbind(), limit }),
            Some(folder) => Ok(Self::Folder(ScratchSpace { folder: folder.extract::<PathBuf>()?, limit })),
            None if limit.is_some() => Err(to_python(Error::Incompatible {
                what: "scratch_limit= limits what goes to scratch=, which is None".into(),
                fix: "name a folder with scratch=, or leave scratch_limit= out",
            })),
            None => Ok(Self::Nowhere),
        }
    }

    /// Refuse a folder that was named, if the job cannot work there.
    pub(crate) fn check(&self, request: &Request, memory_limit: Option<u64>) -> Result<()> {
        match self {
            Self::Folder(space) => disk::check(request, memory_limit, space),
            Self::Nowhere | Self::Found { .. } => Ok(()),
        }
    }

    /// The limits of a run on more than `few` rows, within a memory limit that the caller gave.
    pub(crate) fn limits(
        &self,
        py: Python<'_>,
        request: &Request,
        (threads, given): (Option<NonZeroUsize>, Option<u64>),
        few: bool,
    ) -> PyResult<RunLimits> {
        match self {
            Self::Found { find, limit } if !(few && given.is_none()) => {
                let (folder, free): (Option<PathBuf>, Option<u64>) = find.call0(py)?.extract(py)?;
                let folder = folder.filter(|_| disk::can_work(request, given));
                // A job that goes on from the disk leaves the other half to everything else.
                let found =
                    free.map(|free| if folder.is_some() { (free / 2).max(disk::LEAST) } else { free });
                let control = given.map_or_else(
                    || Control::with_found_limit(threads, found),
                    |given| Control::new(threads, Some(given)),
                );
                let space = |folder| ScratchSpace { folder, limit: *limit };
                Ok(RunLimits { control, scratch: folder.map(space) })
            }
            Self::Folder(space) => {
                Ok(RunLimits { control: Control::new(threads, given), scratch: Some(space.clone()) })
            }
            Self::Nowhere | Self::Found { .. } => {
                Ok(RunLimits { control: Control::new(threads, given), scratch: None })
            }
        }
    }
}
