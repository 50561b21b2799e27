//! The thread of a job, and the wait for it: with signals and progress, without the interpreter.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use dpsel_exact::Error;
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;
use dpsel_rows::runtime::panics::caught;
use pyo3::prelude::*;

use crate::consumer::Consumer;
use crate::ending_threads;
use crate::error::{internal, no_thread, to_python};

/// How long the calling thread waits before it looks at signals and reports progress.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// What comes of a job, or the error that ended it.
type Ended<Made> = Result<Made, Error>;

/// Run the job; a panic in it becomes an error instead of crossing into Python.
fn ended<Made>(run: impl FnOnce() -> Ended<Made>) -> Ended<Made> {
    caught(run).unwrap_or(Err(Error::Internal("the job panicked")))
}

fn send_outcome<Made>(sender: &SyncSender<Ended<Made>>, run: impl FnOnce() -> Ended<Made>) {
    // Nobody listens any more only if the caller gave up after a second Ctrl-C.
    let _ = sender.send(ended(run));
}

/// Run the job on the calling thread, which sees no signal meanwhile: for a few rows, on which a thread would cost more
/// than the work.
pub(crate) fn run_here<W: Consumer>(py: Python<'_>, source: Source, job: &W) -> PyResult<W::Made> {
    let (control, run) = job.begin(py, true)?;
    let outcome = py.detach(|| ended(|| run(source, &control))).map_err(to_python)?;
    completed(py, job, &control)?;
    Ok(outcome)
}

/// Report the total, once.
fn completed(py: Python<'_>, job: &impl Consumer, control: &Control) -> PyResult<()> {
    control.progress().complete();
    job.settings().report_progress(py, control)
}

/// A job on its own thread.
pub(crate) struct Running<Made> {
    /// There until the job has answered.
    thread: Option<JoinHandle<()>>,
    // Only for `detach`, which wants what it borrows to be `Sync`; nobody else takes the lock.
    result: Mutex<Receiver<Ended<Made>>>,
    control: Control,
}

impl<Made: Send + 'static> Running<Made> {
    /// Start a job on a thread of its own. Unless a caller limits its memory it frees large arrays after it
    /// has answered.
    pub(crate) fn start(py: Python<'_>, source: Source, job: &impl Consumer<Made = Made>) -> PyResult<Self> {
        ending_threads::await_ending(py);
        let (sender, result) = sync_channel(1);
        let (control, run) = job.begin(py, false)?;
        let (control, deferred_frees) = control.with_deferred_frees();
        let of_thread = control.clone();
        let thread = Builder::new()
            .name("dpsel".into())
            .spawn(move || {
                // What the thread knows of the job is dropped before the answer is seen, and with it what holds until then.
                send_outcome(&sender, move || run(source, &of_thread));
                // Nothing that is freed panics. A panic would have nobody to tell.
                let _ = caught(|| deferred_frees.free());
            })
            .map_err(|_| no_thread())?;
        Ok(Self { thread: Some(thread), result: Mutex::new(result), control })
    }

    /// What the job is observed and controlled by.
    pub(crate) fn control(&self) -> Control {
        self.control.clone()
    }

    /// Wait for the end, looking at signals and reporting progress on the way.
    pub(crate) fn finish(mut self, py: Python<'_>, job: &impl Consumer<Made = Made>) -> PyResult<Made> {
        loop {
            if let Some(outcome) = self.wait(py)? {
                let outcome = outcome.map_err(to_python)?;
                completed(py, job, &self.control)?;
                return Ok(outcome);
            }
            let tick = py.check_signals().and_then(|()| job.settings().report_progress(py, &self.control));
            if let Err(error) = tick {
                return Err(self.give_up(py, error));
            }
        }
    }

    /// Stop the job, wait until its thread has ended, and give back `reason`.
    ///
    /// The wait can be cut short by another signal: a producer that never returns must not hold the user.
    pub(crate) fn give_up(&mut self, py: Python<'_>, reason: PyErr) -> PyErr {
        self.control.progress().cancel();
        while let Ok(None) = self.wait(py) {
            if py.check_signals().is_err() {
                break;
            }
        }
        reason
    }

    fn wait(&mut self, py: Python<'_>) -> PyResult<Option<Ended<Made>>> {
        let received = py.detach(|| match self.result.lock() {
            Ok(result) => result.recv_timeout(TICK),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match received {
            Ok(outcome) => {
                if let Some(thread) = self.thread.take() {
                    ending_threads::add(py, thread);
                }
                Ok(Some(outcome))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(internal("the job ended without a result")),
        }
    }
}

/// Do work on a thread of its own, looking at signals on the way. After one the work is told to stop, and has ended when
/// this returns.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    control: &Control,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, result) = sync_channel(1);
            let work = move || {
                let ended = caught(work).unwrap_or(Err(Error::Internal("the work panicked")));
                // The receiver waits for this.
                let _ = sender.send(ended);
            };
            Builder::new().spawn_scoped(scope, work).map_err(|_| no_thread())?;
            let mut stopped = None;
            loop {
                match result.recv_timeout(TICK) {
                    Ok(ended) => return stopped.map_or(ended.map_err(to_python), Err),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(internal("the work ended without a result"));
                    }
                }
                if stopped.is_none()
                    && let Some(error) = Python::attach(|py| py.check_signals().err())
                {
                    control.progress().cancel();
                    stopped = Some(error);
                }
            }
        })
    })
}
