//! What of a release on a cluster is hidden: on the driver from whoever looks at variables, on its way from whoever
//! reads logs and disks.

use std::path::PathBuf;

use dpsel_core::Error;
use dpsel_core::exchange::{Packed, Plan};
use dpsel_core::random::{Secret, Share, WrappedKey};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use pyo3_arrow::PyRecordBatch;

use crate::error::{guarded, internal, to_python};
use crate::exchange::{ClusterPlan, batches};

/// Packed values on the driver: nothing shows them, and they are wiped when they are no longer needed.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterPacked {
    pub(crate) packed: Packed,
}

impl From<Packed> for ClusterPacked {
    fn from(packed: Packed) -> Self {
        Self { packed }
    }
}

#[pymethods]
impl ClusterPacked {
    /// What tasks returned; without batches, no values.
    #[new]
    #[pyo3(signature = (batches = Vec::new()))]
    fn new(batches: Vec<PyRecordBatch>) -> PyResult<Self> {
        let gathered = self::batches(batches);
        guarded(|| Packed::gathered(&gathered)).map(Self::from)
    }

    /// These values, and more behind them.
    fn followed_by(&self, more: &Self) -> Self {
        self.packed.with(&more.packed).into()
    }

    /// Number of bytes.
    fn __len__(&self) -> usize {
        self.packed.bytes().len()
    }

    /// The values as they travel to tasks, which open them with the key of the plan.
    fn sealed<'py>(&self, py: Python<'py>, plan: &ClusterPlan) -> Bound<'py, PyBytes> {
        let sealed = py.detach(|| self.packed.sealed(plan.plan.key()));
        PyBytes::new(py, &sealed)
    }
}

/// What unwraps the keys of the releases of a session: it travels apart from what it unwraps.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterShare {
    share: Share,
}

#[pymethods]
impl ClusterShare {
    /// A fresh one.
    #[new]
    fn new() -> PyResult<Self> {
        guarded(Share::from_system).map(|share| Self { share })
    }

    /// The share as text.
    fn text(&self) -> String {
        self.share.to_text().to_string()
    }

    /// The plan with its key wrapped.
    #[pyo3(signature = (plan, secret_file=None))]
    fn seal(&self, plan: &ClusterPlan, secret_file: Option<PathBuf>) -> PyResult<ClusterSealed> {
        let key = guarded(|| self.share.wrap(plan.plan.key(), secret(secret_file.as_ref())?.as_ref()))?;
        let work = serde_json::to_string(plan.plan.work());
        Ok(ClusterSealed { work: work.map_err(|_| internal("a plan cannot be written"))?, key, secret_file })
    }
}

/// A plan on its way to a task: its key is wrapped.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterSealed {
    work: String,
    key: WrappedKey,
    secret_file: Option<PathBuf>,
}

#[pymethods]
impl ClusterSealed {
    /// The sealed plan from what `__reduce__` gave.
    #[staticmethod]
    fn from_parts(work_json: String, key_json: &str, secret_file: Option<PathBuf>) -> PyResult<Self> {
        let key = serde_json::from_str(key_json).map_err(|_| to_python(DAMAGED))?;
        Ok(Self { work: work_json, key, secret_file })
    }

    /// The plan, with the text of the share that has wrapped its key.
    fn open(&self, share: &str) -> PyResult<ClusterPlan> {
        let work = serde_json::from_str(&self.work).map_err(|_| to_python(DAMAGED))?;
        guarded(|| {
            let secret = secret(self.secret_file.as_ref())?;
            let key = Share::from_text(share)?.unwrap_key(&self.key, secret.as_ref())?;
            Ok(ClusterPlan { plan: Plan::new(work, key) })
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let key = serde_json::to_string(&self.key);
        let key = key.map_err(|_| internal("a wrapped key cannot be written"))?;
        let parts = (&self.work, key, self.secret_file.as_ref()).into_pyobject(py)?;
        Ok((py.get_type::<Self>().getattr("from_parts")?, parts))
    }
}

const DAMAGED: Error = Error::Internal("a sealed plan is damaged");

fn secret(file: Option<&PathBuf>) -> Result<Option<Secret>, Error> {
    file.map(|path| Secret::read(path)).transpose()
}
