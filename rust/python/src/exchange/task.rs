//! One task of a stage.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use dpsel_engines::exchange::Stage;
use dpsel_exact::Error;
use dpsel_rows::runtime::panics::caught;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;

use super::batches;
use crate::error::to_python;

/// The work of one task: batches in, batches out.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangeTask {
    // Only for `Sync`, which Python objects have to be. A task has one thread.
    stage: Mutex<Box<dyn Stage>>,
}

impl ExchangeTask {
    pub(super) fn new(stage: impl Stage + 'static) -> Self {
        Self { stage: Mutex::new(Box::new(stage)) }
    }

    fn run(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut dyn Stage) -> Result<Vec<RecordBatch>, Error> + Send,
    ) -> PyResult<Vec<PyRecordBatch>> {
        let done = py.detach(|| {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            caught(|| step(stage.as_mut())).unwrap_or(Err(Error::Internal("a task panicked")))
        });
        done.map_err(to_python).map(batches::to_python)
    }
}

#[pymethods]
impl ExchangeTask {
    /// Take a batch, and return the batches that are ready, as objects with `__arrow_c_array__`.
    fn push(&self, py: Python<'_>, batch: PyRecordBatch) -> PyResult<Vec<PyRecordBatch>> {
        self.run(py, |stage| stage.push(batch.into_inner()))
    }

    /// Return the remaining batches; none come in after this call.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<PyRecordBatch>> {
        self.run(py, |stage| stage.finish())
    }
}
