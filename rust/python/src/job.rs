//! One call apart from its data: a request, and settings that do not change the guarantee.

use std::num::{NonZeroU64, NonZeroUsize};

use dpsel_core::task::Request;
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Size};
use dpsel_rows::ingest::Columns;
use dpsel_rows::runtime::{Control, Phase};
use pyo3::prelude::*;

use crate::error::{guarded, to_python};
use crate::place::{Beyond, Place};
use crate::request::{Lists, parse_with_table};

/// The most threads. More would only wait for each other, and starve the machine.
const MOST_THREADS: u64 = 1024;

/// One call apart from its data. It says its task.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct Job {
    request: Request,
    test_key: Option<[u8; 32]>,
    threads: Option<NonZeroUsize>,
    memory_limit: Option<u64>,
    beyond: Beyond,
    progress: Option<Py<PyAny>>,
    with_phase: bool,
    chosen: Option<String>,
    has_lists: bool,
}

#[pymethods]
impl Job {
    /// Every parameter is checked here, before any data is looked at.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
    #[pyo3(signature = (
        request_json, *, test_key=None, threads=None, memory_limit=None, scratch=None, scratch_limit=None,
        progress=None, with_phase=false, chosen=None, public_table=None, excluded=None, public_items=None
    ))]
    fn new(
        py: Python<'_>,
        request_json: &str,
        test_key: Option<&[u8]>,
        threads: Option<i64>,
        memory_limit: Option<i64>,
        scratch: Option<&Bound<'_, PyAny>>,
        scratch_limit: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
        with_phase: bool,
        chosen: Option<String>,
        public_table: Option<&Bound<'_, PyAny>>,
        excluded: Option<&Bound<'_, PyAny>>,
        public_items: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let test_key = test_key.map(key_bytes).transpose()?;
        progress.map_or(Ok(()), check_progress)?;
        let threads = threads.map(|n| at_least_one("threads", n, "leave it out to use every core"));
        let limit = memory_limit.map(|n| at_least_one("memory_limit", n, "it counts bytes"));
        let (threads, memory_limit) = (threads.transpose()?, limit.transpose()?);
        if let Some(threads) = threads.filter(|threads| threads.get() > MOST_THREADS) {
            let fix = "leave it out to use every core";
            return Err(to_python(Error::parameter("threads", "at most 1024", threads, fix)));
        }
        let scratch_limit =
            scratch_limit.map(|n| at_least_one("scratch_limit", n, "it counts bytes")).transpose()?;
        let has_lists = [public_table, excluded, public_items].iter().any(Option::is_some);
        let request =
            parse_with_table(request_json, public_table, &Lists { excluded, public: public_items })?;
        // What has no calibration is an error whatever the data is, and is one before any of it is looked at. The
        // calibration is remembered, so that the job has it.
        py.detach(|| {
            guarded(|| match &request {
                Request::Select(request) => request.calibrate_once().map(drop),
                Request::TopK(request) => request.calibrate().map(drop),
                Request::Count(_) => Ok(()),
            })
        })?;
        let memory_limit = memory_limit.map(NonZeroU64::get);
        let beyond = Beyond::new(scratch, scratch_limit)?;
        beyond.check(&request, memory_limit).map_err(to_python)?;
        Ok(Self {
            request,
            test_key,
            // Otherwise: more than can be addressed, which is more than there are.
            threads: threads.map(|n| n.try_into().unwrap_or(NonZeroUsize::MAX)),
            memory_limit,
            beyond,
            progress: progress.map(|call| call.clone().unbind()),
            with_phase,
            chosen,
            has_lists,
        })
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

/// Draw a fresh key, or take the key that a test gives.
pub(crate) fn draw_key(test_key: Option<&[u8]>) -> PyResult<ReleaseKey> {
    match test_key {
        None => ReleaseKey::from_system().map_err(to_python),
        Some(given) => key_bytes(given).map(ReleaseKey::insecure_test),
    }
}

fn key_bytes(given: &[u8]) -> PyResult<[u8; 32]> {
    given.try_into().map_err(|_| {
        let rule = "exactly 32 bytes";
        let fix = "leave it out for a private release; it exists for tests only";
        to_python(Error::parameter("insecure_test_key", rule, format!("{} bytes", given.len()), fix))
    })
}

fn at_least_one(name: &'static str, given: i64, fix: &'static str) -> PyResult<NonZeroU64> {
    u64::try_from(given)
        .ok()
        .and_then(NonZeroU64::new)
        .ok_or_else(|| to_python(Error::parameter(name, "a whole number above 0", given, fix)))
}

impl Job {
    /// What is asked for.
    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// As [`draw_key`]: each call draws another key.
    pub(crate) fn draw_key(&self) -> PyResult<ReleaseKey> {
        draw_key(self.test_key.as_ref().map(<[u8; 32]>::as_slice))
    }

    /// The columns that are read.
    pub(crate) fn columns(&self) -> PyResult<&Columns> {
        self.request.columns().map_err(to_python)
    }

    /// Whether there are public lists beside the data, which may be long however few rows there are.
    pub(crate) fn has_lists(&self) -> bool {
        self.has_lists
    }

    /// Threads and memory limit for what comes before any row is read.
    pub(crate) fn control(&self) -> Control {
        Control::new(self.threads, self.memory_limit)
    }

    /// The limits of one run, with fresh counters, on `few` rows or more.
    pub(crate) fn place(&self, py: Python<'_>, few: bool) -> PyResult<Place> {
        self.beyond.place(py, &self.request, (self.threads, self.memory_limit), few)
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

    /// Why the mechanism was chosen, when it was chosen automatically.
    pub(crate) fn chosen(&self) -> Option<String> {
        self.chosen.clone()
    }
}
