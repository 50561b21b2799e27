//! The driver's part of scored rounds on blocks of users.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dpsel_engines::exchange::{self, most_sums};
use pyo3::prelude::*;

use super::job::ExchangeJob;
use super::packed::ExchangePacked;
use crate::error::guarded;

/// The states of items that several users hold, while tasks have the users in blocks. Nothing shows them.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangeSteering {
    // Only for `Sync`, which Python objects have to be. A release has one thread.
    steering: Mutex<exchange::Steering>,
}

#[pymethods]
impl ExchangeSteering {
    /// Before the first round.
    #[new]
    fn new(job: &ExchangeJob) -> Self {
        Self { steering: Mutex::new(exchange::Steering::new(job.job.clone())) }
    }

    /// Take what some tasks of a round sent.
    fn take(&self, py: Python<'_>, sent: &ExchangePacked) -> PyResult<()> {
        py.detach(|| guarded(|| self.locked().take(&sent.packed)))
    }

    /// End a round. Returns the states for the next round; after the last round, all decisions.
    fn end_round(&self, py: Python<'_>) -> PyResult<ExchangePacked> {
        py.detach(|| guarded(|| self.locked().end_round())).map(ExchangePacked::from)
    }

    /// The most sums of weights that tasks send together in a round, given the user counts of shared items.
    #[staticmethod]
    fn most_sums(shared: &ExchangePacked, tasks: u32) -> PyResult<u64> {
        guarded(|| most_sums(&shared.packed, tasks))
    }
}

impl ExchangeSteering {
    fn locked(&self) -> MutexGuard<'_, exchange::Steering> {
        self.steering.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
