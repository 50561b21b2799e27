//! One call: its settings, and the thread it runs on.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dpsel_core::Error;
use dpsel_core::ingest::{Columns, Prior, PublicList, Source};
use dpsel_core::random::ReleaseKey;
use dpsel_core::runtime::Control;
use dpsel_core::runtime::panics::caught;
use dpsel_core::task::{Request, TopKRequest};
use pyo3::prelude::*;

use crate::error::{guarded, internal, parse_request, to_python};
use crate::link::Producer;
use crate::pairs::Pairs;
use crate::top_k::read_list;

/// How long the calling thread waits before it looks at signals and reports progress.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// One call without its data: what is asked for, and settings that say nothing about the guarantee.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct Job {
    asked: Asked,
    test_key: Option<[u8; 32]>,
    threads: Option<NonZeroUsize>,
    memory_limit: Option<u64>,
    progress: Option<Py<PyAny>>,
    chosen: Option<String>,
}

/// What is asked for.
#[derive(Clone)]
pub(crate) enum Asked {
    /// The items that may be published.
    Select(Request),
    /// The items that most users hold.
    TopK(TopKRequest, Option<PublicList>),
}

impl Asked {
    /// The request of a selection.
    pub(crate) fn selection(&self) -> Result<&Request, Error> {
        match self {
            Self::Select(request) => Ok(request),
            Self::TopK(..) => Err(Error::Internal("a selection was started with the request of a top-k")),
        }
    }
}

#[pymethods]
impl Job {
    /// Every parameter is checked here, before any data is looked at.
    #[new]
    #[pyo3(signature = (
        request_json, *, test_key=None, threads=None, memory_limit=None, progress=None, chosen=None,
        public_table=None
    ))]
    fn new(
        request_json: &str,
        test_key: Option<&[u8]>,
        threads: Option<i64>,
        memory_limit: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
        chosen: Option<String>,
        public_table: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let test_key = test_key.map(key_bytes).transpose()?;
        progress.map_or(Ok(()), check_progress)?;
        let threads = threads.map(|n| at_least_one("threads", n, "leave it out to use every core"));
        let limit = memory_limit.map(|n| at_least_one("memory_limit", n, "it counts bytes"));
        let (threads, memory_limit) = (threads.transpose()?, limit.transpose()?);
        Ok(Self {
            asked: parse_asked(request_json, public_table)?,
            test_key,
            // Otherwise: more than can be addressed, which is more than there are.
            threads: threads.map(|n| n.try_into().unwrap_or(NonZeroUsize::MAX)),
            memory_limit: memory_limit.map(std::num::NonZeroU64::get),
            progress: progress.map(|call| call.clone().unbind()),
            chosen,
        })
    }
}

/// The public table of preferences, from `(rank, item)` in ascending order of rank.
fn read_prior(ranked: &Bound<'_, PyAny>, columns: &Columns) -> PyResult<Arc<Prior>> {
    let mut pairs = Pairs::of_argument(ranked, columns, "prior=")?;
    let mut batches = Vec::new();
    while let Some(batch) = pairs.next_batch(ranked.py())? {
        batches.push(batch);
    }
    Ok(Arc::new(Prior::new(batches)))
}

/// It is called many times, so what cannot be called is refused before anything is read.
fn check_progress(given: &Bound<'_, PyAny>) -> PyResult<()> {
    if given.is_callable() {
        return Ok(());
    }
    let kind = given.get_type().name().map_or_else(|_| "an object".into(), |name| name.to_string());
    let fix = "pass a function, such as the update method of a progress bar, or leave it out";
    Err(to_python(Error::parameter("progress", "a function of (done, total)", kind, fix)))
}

/// The public table is that of preferences for a selection, and the domain for top-k.
fn parse_asked(request_json: &str, public_table: Option<&Bound<'_, PyAny>>) -> PyResult<Asked> {
    if !TopKRequest::is_meant(request_json) {
        let mut request = parse_request(request_json)?;
        request.prior = public_table.map(|ranked| read_prior(ranked, &request.columns)).transpose()?;
        request.item_order().map_err(to_python)?;
        return Ok(Asked::Select(request));
    }
    let request = guarded(|| TopKRequest::from_json(request_json))?;
    let read = |domain| read_list(domain, request.columns.as_ref());
    let domain = public_table.map(read).transpose()?;
    Ok(Asked::TopK(request, domain))
}

/// A fresh key, or the one that a test gives.
pub(crate) fn release_key(test_key: Option<&[u8]>) -> PyResult<ReleaseKey> {
    match test_key {
        None => ReleaseKey::from_system().map_err(to_python),
        Some(given) => key_bytes(given).map(ReleaseKey::insecure_test),
    }
}

pub(crate) fn key_bytes(given: &[u8]) -> PyResult<[u8; 32]> {
    given.try_into().map_err(|_| {
        let rule = "exactly 32 bytes";
        let fix = "leave it out for a private release; it exists for tests only";
        to_python(Error::parameter("insecure_test_key", rule, format!("{} bytes", given.len()), fix))
    })
}

fn at_least_one(name: &'static str, given: i64, fix: &'static str) -> PyResult<std::num::NonZeroU64> {
    u64::try_from(given)
        .ok()
        .and_then(std::num::NonZeroU64::new)
        .ok_or_else(|| to_python(Error::parameter(name, "a whole number above 0", given, fix)))
}

impl Job {
    fn key(&self) -> Result<ReleaseKey, Error> {
        self.test_key.map_or_else(ReleaseKey::from_system, |bytes| Ok(ReleaseKey::insecure_test(bytes)))
    }

    /// The columns that are asked for.
    pub(crate) fn columns(&self) -> PyResult<&Columns> {
        match &self.asked {
            Asked::Select(request) => Ok(&request.columns),
            Asked::TopK(request, _) => {
                request.columns.as_ref().ok_or_else(|| internal("no columns were named"))
            }
        }
    }

    /// Threads and memory limit, with fresh counters.
    pub(crate) fn control(&self) -> Control {
        Control::new(self.threads, self.memory_limit)
    }

    /// Tell the caller's progress function how far the job is.
    pub(crate) fn report_progress(&self, py: Python<'_>, control: &Control) -> PyResult<()> {
        let Some(call) = &self.progress else { return Ok(()) };
        let progress = control.progress();
        call.call1(py, (progress.done(), progress.total())).map(drop)
    }

    /// Why the mechanism was chosen, when it was chosen automatically.
    pub(crate) fn chosen(&self) -> Option<String> {
        self.chosen.clone()
    }

    /// Start `work` on a thread of its own.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        source: Source,
        control: &Control,
        work: Work<T>,
    ) -> PyResult<Running<T>> {
        let key = self.key().map_err(to_python)?;
        let (sender, result) = sync_channel(1);
        let (worker, asked) = (control.clone(), self.asked.clone());
        let run = move || work(source, &asked, &key, &worker);
        std::thread::Builder::new()
            .name("dpsel".into())
            .spawn(move || send_outcome(&sender, run))
            .map_err(|_| internal("the operating system started no thread"))?;
        Ok(Running { result: Mutex::new(result), control: control.clone() })
    }
}

/// What a job does with its source.
pub(crate) type Work<T> = fn(Source, &Asked, &ReleaseKey, &Control) -> Result<T, Error>;

type Outcome<T> = Result<T, Error>;

/// Run the job; a panic in it becomes an error instead of crossing into Python.
fn send_outcome<T>(sender: &SyncSender<Outcome<T>>, run: impl FnOnce() -> Outcome<T>) {
    let outcome = caught(run).unwrap_or(Err(Error::Internal("the job panicked")));
    // Nobody listens any more only if the caller gave up after a second Ctrl-C.
    let _ = sender.send(outcome);
}

/// A job on its own thread.
pub(crate) struct Running<T> {
    // Only for `detach`, which wants what it borrows to be `Sync`; nobody else takes the lock.
    result: Mutex<Receiver<Outcome<T>>>,
    control: Control,
}

impl<T: Send> Running<T> {
    /// Wait for the end, looking at signals and reporting progress on the way.
    pub(crate) fn finish(self, py: Python<'_>, job: &Job) -> PyResult<T> {
        loop {
            if let Some(outcome) = self.wait(py)? {
                let outcome = outcome.map_err(to_python)?;
                // Only here, so that the total is reported once.
                self.control.progress().complete();
                job.report_progress(py, &self.control)?;
                return Ok(outcome);
            }
            let tick = py.check_signals().and_then(|()| job.report_progress(py, &self.control));
            if let Err(error) = tick {
                return Err(self.abandon(py, error));
            }
        }
    }

    /// Stop the job, wait until its thread has ended, and give back `reason`.
    ///
    /// The wait can be cut short by another signal: a producer that never returns must not hold the user.
    pub(crate) fn abandon(&self, py: Python<'_>, reason: PyErr) -> PyErr {
        self.control.progress().cancel();
        while let Ok(None) = self.wait(py) {
            if py.check_signals().is_err() {
                break;
            }
        }
        reason
    }

    fn wait(&self, py: Python<'_>) -> PyResult<Option<Outcome<T>>> {
        let received = py.detach(|| match self.result.lock() {
            Ok(result) => result.recv_timeout(TICK),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match received {
            Ok(outcome) => Ok(Some(outcome)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(internal("the job ended without a result")),
        }
    }
}
