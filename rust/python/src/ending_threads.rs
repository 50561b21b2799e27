//! Threads of jobs that have answered and still free memory.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use pyo3::prelude::*;

static ENDING: Mutex<Ending> = Mutex::new(Ending { process: 0, threads: Vec::new() });

/// The threads of a process.
struct Ending {
    process: u32,
    threads: Vec<JoinHandle<()>>,
}

impl Ending {
    /// The threads of this process.
    fn threads(&mut self) -> &mut Vec<JoinHandle<()>> {
        let process = std::process::id();
        if self.process != process {
            // A forked process has none of these threads, and must not touch them.
            std::mem::take(&mut self.threads).into_iter().for_each(std::mem::forget);
            self.process = process;
        }
        &mut self.threads
    }
}

/// Note a thread that has answered. The interpreter is attached, so no other thread of Python forks while the lock is held.
pub(crate) fn add(_py: Python<'_>, thread: JoinHandle<()>) {
    // Nothing panics while it holds the lock.
    ENDING.lock().unwrap_or_else(PoisonError::into_inner).threads().push(thread);
}

/// Wait until jobs that have answered have freed their memory: before the next job begins, and before the process forks or
/// ends.
#[pyfunction]
pub(crate) fn await_ending(py: Python<'_>) {
    // As above.
    let threads = std::mem::take(ENDING.lock().unwrap_or_else(PoisonError::into_inner).threads());
    if !threads.is_empty() {
        py.detach(|| {
            for thread in threads {
                // A panic of the job has become its error.
                let _ = thread.join();
            }
        });
    }
}
