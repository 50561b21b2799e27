//! Settings of a call that no release depends on: threads, a memory limit and a progress function.

use std::num::{NonZeroU64, NonZeroUsize};

use dpsel_exact::{Error, Size};
use dpsel_rows::runtime::{Control, Phase};
use pyo3::prelude::*;

use crate::error::to_python;

/// The most threads. More would only wait for each other, and starve the machine.
const MOST_THREADS: u64 = 1024;

/// What no release depends on.
pub(crate) struct Settings {
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) memory_limit: Option<u64>,
    progress: Option<Py<PyAny>>,
    with_phase: bool,
}

impl Settings {
    /// Check them.
    pub(crate) fn new(
        threads: Option<i64>,
        memory_limit: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
        with_phase: bool,
    ) -> PyResult<Self> {
        progress.map_or(Ok(()), check_progress)?;
        let threads = threads.map(|n| at_least_one("threads", n, "leave it out to use every core"));
        let limit = memory_limit.map(|n| at_least_one("memory_limit", n, "it counts bytes"));
        let (threads, memory_limit) = (threads.transpose()?, limit.transpose()?);
        if let Some(threads) = threads.filter(|threads| threads.get() > MOST_THREADS) {
            let fix = "leave it out to use every core";
            return Err(to_python(Error::parameter("threads", "at most 1024", threads, fix)));
        }
        Ok(Self {
            // Otherwise: more than can be addressed, which is more than there are.
            threads: threads.map(|n| n.try_into().unwrap_or(NonZeroUsize::MAX)),
            memory_limit: memory_limit.map(NonZeroU64::get),
            progress: progress.map(|call| call.clone().unbind()),
            with_phase,
        })
    }

    /// Threads and memory limit for what has no other limits.
    pub(crate) fn control(&self) -> Control {
        Control::new(self.threads, self.memory_limit)
    }

    /// Tell the caller's progress function how far the job is, and our own bar what it is doing, too.
    pub(crate) fn report_progress(&self, py: Python<'_>, control: &Control) -> PyResult<()> {
        let Some(call) = &self.progress else { return Ok(()) };
        let progress = control.progress();
        let (done, total) = (progress.done(), progress.total());
        if self.with_phase {
            let phase = shown(progress.phase());
            let exceeded =
                control.memory_limit().filter(|_| progress.is_on_disk()).map(|limit| Size(limit).to_string());
            return call.call1(py, (done, total, phase, progress.phases(), exceeded)).map(drop);
        }
        call.call1(py, (done, total)).map(drop)
    }
}

/// Refuse a progress function that cannot be called, before anything is read.
fn check_progress(given: &Bound<'_, PyAny>) -> PyResult<()> {
    if given.is_callable() {
        return Ok(());
    }
    let kind = given.get_type().name().map_or_else(|_| "an object".into(), |name| name.to_string());
    let fix = "pass a function, such as the update method of a progress bar, or leave it out";
    Err(to_python(Error::parameter("progress", "True or a function of (done, total)", kind, fix)))
}

/// What a bar says of a phase.
fn shown(phase: Phase) -> String {
    match phase {
        Phase::Reading => "reading".into(),
        Phase::Settling => "settling".into(),
        Phase::Round(round, rounds) => format!("round {round} of {rounds}"),
        Phase::Names => "names".into(),
    }
}

pub(crate) fn at_least_one(name: &'static str, given: i64, fix: &'static str) -> PyResult<NonZeroU64> {
    u64::try_from(given)
        .ok()
        .and_then(NonZeroU64::new)
        .ok_or_else(|| to_python(Error::parameter(name, "a whole number above 0", given, fix)))
}
