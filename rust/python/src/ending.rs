//! Threads of jobs that have answered and still free memory.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use pyo3::prelude::*;

/// The threads, each with the process that it belongs to.
static ENDING: Mutex<Vec<(u32, JoinHandle<()>)>> = Mutex::new(Vec::new());

/// Note a thread that has nothing more to do than free memory.
pub(crate) fn add(thread: JoinHandle<()>) {
    // Nothing panics while it holds the lock.
    let mut ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    ending.retain(|(_, thread)| !thread.is_finished());
    ending.push((std::process::id(), thread));
}

/// Wait until jobs that have answered have no thread any more: before the process forks, and before it ends.
#[pyfunction]
pub(crate) fn await_ending(py: Python<'_>) {
    py.detach(|| {
        let ending = std::mem::take(&mut *ENDING.lock().unwrap_or_else(PoisonError::into_inner));
        let process = std::process::id();
        for (of, thread) in ending {
            if of == process {
                // A panic of the job became its error, and freeing memory does not panic.
                let _ = thread.join();
            } else {
                // A fork that did not wait left the thread in the other process: nothing is there to wait for.
                std::mem::forget(thread);
            }
        }
    });
}
