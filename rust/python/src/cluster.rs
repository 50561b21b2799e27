//! The pieces of a release on a cluster.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use dpsel_core::Error;
use dpsel_core::cluster::{Decisions, Plan, Stage};
use dpsel_core::mechanisms::Calibration;
use dpsel_core::panics::caught;
use dpsel_core::random::ReleaseKey;
use dpsel_core::release::Report;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use pyo3_arrow::{PyRecordBatch, PySchema};

use crate::error::{guarded, parse_request, to_python};
use crate::export::Release;
use crate::job::release_key;

/// Check the parameters of a release on a cluster.
#[pyfunction]
pub(crate) fn validate_cluster(request_json: &str) -> PyResult<()> {
    let request = parse_request(request_json)?;
    guarded(|| Plan::calibrate(&request)).map(drop)
}

/// One release on a cluster. Its pickle holds the release key: it goes to the machines that work on it and nowhere else.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterPlan {
    plan: Plan,
}

#[pymethods]
impl ClusterPlan {
    /// Every parameter and the columns are checked here, before any row is read.
    #[new]
    #[pyo3(signature = (request_json, schema, *, test_key=None))]
    fn new(request_json: &str, schema: &Bound<'_, PyAny>, test_key: Option<&[u8]>) -> PyResult<Self> {
        let request = parse_request(request_json)?;
        let key = release_key(test_key)?;
        let schema = arrow_schema(schema)?;
        guarded(|| Plan::new(request, &schema, key)).map(|plan| Self { plan })
    }

    /// The plan from what `__reduce__` gave.
    #[staticmethod]
    fn from_parts(
        request_json: &str,
        calibration_json: &str,
        key: &[u8],
        insecure_test: bool,
    ) -> PyResult<Self> {
        const DAMAGED: Error = Error::Internal("the pickled plan is damaged");
        let request = parse_request(request_json)?;
        let calibration = serde_json::from_str(calibration_json).map_err(|_| to_python(DAMAGED))?;
        let key = key.try_into().map_err(|_| to_python(DAMAGED))?;
        let key = ReleaseKey::from_shared(key, insecure_test);
        Ok(Self { plan: Plan::from_parts(request, calibration, key) })
    }

    /// The number of rounds.
    #[getter]
    fn rounds(&self) -> usize {
        self.plan.calibration().rounds.len()
    }

    /// The report as JSON; no data goes into it.
    #[pyo3(signature = (chosen=None))]
    fn report_json(&self, chosen: Option<String>) -> PyResult<String> {
        let (request, calibration): (_, Calibration) = (self.plan.request(), self.plan.calibration().clone());
        let mut report = Report::new(request.clone(), calibration, self.plan.key());
        report.chosen = chosen;
        report.to_json().map_err(to_python)
    }

    /// The task that reads the table.
    fn encode(&self, routes: u32) -> PyResult<ClusterTask> {
        guarded(|| self.plan.encode(routes)).map(ClusterTask::new)
    }

    /// The task that weighs a round without the items released before.
    fn weigh(&self, routes: u32, round: u32, released: &[u8]) -> PyResult<ClusterTask> {
        guarded(|| self.plan.weigh(routes, round, Decisions::unpack(released)?)).map(ClusterTask::new)
    }

    /// The task that decides a round.
    fn decide(&self, round: u32) -> PyResult<ClusterTask> {
        guarded(|| self.plan.decide(round)).map(ClusterTask::new)
    }

    /// The task that looks up the names of released items.
    fn name(&self, released: &[u8]) -> PyResult<ClusterTask> {
        guarded(|| Ok(self.plan.name(Decisions::unpack(released)?))).map(ClusterTask::new)
    }

    /// The release, from what the naming tasks found.
    #[pyo3(signature = (named, released, schema, chosen=None))]
    fn publish(
        &self,
        named: Vec<PyRecordBatch>,
        released: &[u8],
        schema: &Bound<'_, PyAny>,
        chosen: Option<String>,
    ) -> PyResult<Release> {
        let named: Vec<RecordBatch> = named.into_iter().map(PyRecordBatch::into_inner).collect();
        let schema = arrow_schema(schema)?;
        let mut release = guarded(|| self.plan.publish(&named, Decisions::unpack(released)?, &schema))?;
        release.report.chosen = chosen;
        Release::new(release)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let unwritable = |_| to_python(Error::Internal("a plan cannot be written"));
        let request = serde_json::to_string(self.plan.request()).map_err(unwritable)?;
        let calibration = serde_json::to_string(self.plan.calibration()).map_err(unwritable)?;
        let (key, insecure_test) = self.plan.key().shared();
        let parts = (request, calibration, PyBytes::new(py, &key), insecure_test).into_pyobject(py)?;
        Ok((py.get_type::<Self>().getattr("from_parts")?, parts))
    }
}

fn arrow_schema(schema: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let schema: PySchema = schema.extract()?;
    Ok(schema.into_inner().as_ref().clone())
}

/// The work of one task: batches in, batches out.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterTask {
    // Only for `Sync`, which Python objects have to be; a task has one thread.
    stage: Mutex<Box<dyn Stage>>,
}

impl ClusterTask {
    fn new(stage: impl Stage + 'static) -> Self {
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
        Ok(done.map_err(to_python)?.into_iter().map(PyRecordBatch::new).collect())
    }
}

#[pymethods]
impl ClusterTask {
    /// Take a batch; returns what is ready, as objects with `__arrow_c_array__`.
    fn push(&self, py: Python<'_>, batch: PyRecordBatch) -> PyResult<Vec<PyRecordBatch>> {
        self.run(py, |stage| stage.push(batch.into_inner()))
    }

    /// There are no more batches; returns the rest.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<PyRecordBatch>> {
        self.run(py, |stage| stage.finish())
    }
}
