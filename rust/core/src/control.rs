//! What the caller can see and steer of a running job: threads, memory limit, progress, interruption.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Error, Result};

/// Threads, memory limit and progress of one job. Cloning shares the progress.
#[derive(Debug, Clone)]
pub struct Control {
    threads: NonZeroUsize,
    memory_limit: Option<u64>,
    progress: Arc<Progress>,
}

/// Counters that another thread may read while the job runs.
///
/// They count bytes (or rows) *read*, never distinct users or items.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    memory: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Work done so far, in the unit of [`Progress::total`].
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
    /// Total work if known, else 0.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
    /// Ask the job to stop at its next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Control {
    /// `threads` workers at most; `None` uses every core that is there.
    #[must_use]
    pub fn new(threads: Option<NonZeroUsize>, memory_limit: Option<u64>) -> Self {
        // Otherwise: the system does not tell how many there are.
        let threads =
            threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        Self { threads, memory_limit, progress: Arc::default() }
    }

    /// Number of worker threads to use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.get()
    }

    /// The shared counters.
    #[must_use]
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Declare the total amount of work (bytes of files; 0 when unknown).
    pub fn set_total(&self, total: u64) {
        self.progress.total.store(total, Ordering::Relaxed);
    }

    /// Record work done and fail if the job was interrupted. Called at batch boundaries.
    pub fn advance(&self, work: u64) -> Result<()> {
        self.progress.done.fetch_add(work, Ordering::Relaxed);
        self.check()
    }

    /// Fail if the job was interrupted.
    pub fn check(&self) -> Result<()> {
        if self.progress.cancelled.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Count `bytes` of newly held memory against the limit.
    pub fn charge_memory(&self, bytes: u64, stage: &'static str) -> Result<()> {
        let held = self.progress.memory.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        match self.memory_limit {
            Some(limit) if held > limit => Err(Error::MemoryLimit { limit, stage }),
            Some(_) | None => Ok(()),
        }
    }

    /// Give back `bytes` counted before.
    pub fn release_memory(&self, bytes: u64) {
        self.progress.memory.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::new(None, None)
    }
}
