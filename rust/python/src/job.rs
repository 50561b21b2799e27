//! One call apart from its data: a request, and settings that do not change the guarantee.

use dpsel_core::task::{self, Outcome, Request};
use dpsel_engines::disk;
use dpsel_exact::Error;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::ingest::Columns;
use dpsel_rows::runtime::Control;
use pyo3::prelude::*;

use crate::consumer::{Begun, Consumer};
use crate::error::{guarded, to_python};
use crate::request::{ListArguments, parse_with_table};
use crate::scratch::{RunLimits, ScratchArgument};
use crate::settings::{Settings, at_least_one};

/// One call apart from its data. It says its task.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct Job {
    request: Request,
    test_key: Option<[u8; 32]>,
    settings: Settings,
    scratch: ScratchArgument,
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
        let settings = Settings::new(threads, memory_limit, progress, with_phase)?;
        let scratch_limit =
            scratch_limit.map(|n| at_least_one("scratch_limit", n, "it counts bytes")).transpose()?;
        let has_lists = [public_table, excluded, public_items].iter().any(Option::is_some);
        let request =
            parse_with_table(request_json, public_table, &ListArguments { excluded, public: public_items })?;
        // What has no calibration is an error whatever the data is, and is one before any of it is looked at. The
        // calibration is remembered, so that the job has it.
        py.detach(|| {
            guarded(|| match &request {
                Request::Select(request) => request.calibrate_once().map(drop),
                Request::TopK(request) => request.calibrate().map(drop),
                Request::Count(_) => Ok(()),
            })
        })?;
        let scratch = ScratchArgument::new(scratch, scratch_limit)?;
        scratch.check(&request, settings.memory_limit).map_err(to_python)?;
        Ok(Self { request, test_key, settings, scratch, chosen, has_lists })
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

impl Job {
    /// What is asked for.
    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// As [`draw_key`]: each call draws another key.
    pub(crate) fn draw_key(&self) -> PyResult<ReleaseKey> {
        draw_key(self.test_key.as_ref().map(<[u8; 32]>::as_slice))
    }

    /// Threads and memory limit for what comes before any row is read.
    pub(crate) fn control(&self) -> Control {
        self.settings.control()
    }

    /// Why the mechanism was chosen, when it was chosen automatically.
    pub(crate) fn chosen(&self) -> Option<String> {
        self.chosen.clone()
    }
}

impl Consumer for Job {
    type Made = Outcome;

    fn columns(&self) -> PyResult<&Columns> {
        self.request.columns().map_err(to_python)
    }

    /// Public lists beside the data may be long.
    fn is_long(&self) -> bool {
        self.has_lists
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn begin(&self, py: Python<'_>, few: bool) -> PyResult<Begun<Outcome>> {
        let Settings { threads, memory_limit, .. } = self.settings;
        let RunLimits { control, scratch } =
            self.scratch.limits(py, &self.request, (threads, memory_limit), few)?;
        let (key, request) = (self.draw_key()?, self.request.clone());
        let run = move |source, control: &Control| match scratch {
            Some(space) => disk::run(source, &request, &key, control, space),
            None => task::run(source, &request, &key, control),
        };
        Ok((control, Box::new(run)))
    }
}
