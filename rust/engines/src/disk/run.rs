//! One entry for every task.

use dpsel_core::task::{self, BeyondMemory, Outcome, Request, check_order, run_on};
use dpsel_exact::error::quoted_path;
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result, Size};
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;
use dpsel_rows::scratch::ScratchSpace;

use super::engine::DiskEngine;
use super::threads::{LEAST, Stages};

/// Refuse settings with which the disk engine cannot run, before any row is read.
///
/// # Errors
/// [`Error::Incompatible`] for a mechanism that has no stages, or without a memory limit; [`Error::InvalidParameter`]
/// for a memory limit below [`LEAST`] or a path that is no folder.
pub fn check(request: &Request, memory_limit: Option<u64>, space: &ScratchSpace) -> Result<()> {
    check_mechanism(request)?;
    let Some(limit) = memory_limit else {
        return Err(Error::Incompatible {
            what: "scratch= takes the rows beyond memory_limit=, which is not given".into(),
            fix: "give memory_limit=, such as half of the memory that is free",
        });
    };
    if limit < LEAST {
        let rule = "at least 64 MiB with scratch=";
        return Err(Error::parameter("memory_limit", rule, Size(limit), "raise it, or leave scratch= out"));
    }
    if space.folder.is_dir() {
        return Ok(());
    }
    let rule = "a folder that exists";
    Err(Error::parameter("scratch", rule, quoted_path(&space.folder), "make it, or name another one"))
}

/// Whether a job can work from the disk, within a memory limit if one is given.
#[must_use]
pub fn can_work(request: &Request, memory_limit: Option<u64>) -> bool {
    check_mechanism(request).is_ok() && memory_limit.is_none_or(|limit| limit >= LEAST)
}

/// As [`task::run`]. Rows that exceed the memory limit go to scratch, and the outcome is the same.
///
/// Without a memory limit nothing goes to scratch.
///
/// # Errors
/// See [`dpsel_exact::Error`].
pub fn run(
    source: Source,
    request: &Request,
    key: &ReleaseKey,
    control: &Control,
    space: ScratchSpace,
) -> Result<Outcome> {
    check_mechanism(request)?;
    let Some(limit) = control.memory_limit() else {
        return task::run(source, request, key, control);
    };
    Stages::within(limit, control, |stages| {
        run_on(&DiskEngine::new(key, stages, space)?, source, request, key)
    })
}

/// Refuse a mechanism that does not run on the disk.
fn check_mechanism(request: &Request) -> Result<()> {
    match request {
        Request::Select(request) => check_order(request, BeyondMemory::Disk),
        Request::Count(_) | Request::TopK(_) => Ok(()),
    }
}
