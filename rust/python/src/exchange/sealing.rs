//! How a job travels: with its key wrapped, apart from the share that unwraps it.

use std::path::PathBuf;

use dpsel_engines::exchange;
use dpsel_exact::Error;
use dpsel_exact::random::{Secret, Share, WrappedKey};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::job::ExchangeJob;
use crate::error::{guarded, internal, to_python};

/// The share that unwraps the keys of the releases of a session. It travels apart from the wrapped keys.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangeShare {
    share: Share,
}

#[pymethods]
impl ExchangeShare {
    /// A fresh share.
    #[new]
    fn new() -> PyResult<Self> {
        guarded(Share::from_system).map(|share| Self { share })
    }

    /// The share as text.
    fn text(&self) -> String {
        self.share.to_text().to_string()
    }

    /// The job with its key wrapped.
    #[pyo3(signature = (job, secret_file=None))]
    fn seal(&self, job: &ExchangeJob, secret_file: Option<PathBuf>) -> PyResult<ExchangeSealedJob> {
        let key = guarded(|| self.share.wrap(job.job.key(), secret(secret_file.as_ref())?.as_ref()))?;
        let spec = serde_json::to_string(job.job.spec());
        Ok(ExchangeSealedJob {
            spec: spec.map_err(|_| internal("a job cannot be written"))?,
            key,
            secret_file,
        })
    }
}

/// A job on its way to a task: its key is wrapped.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangeSealedJob {
    spec: String,
    key: WrappedKey,
    secret_file: Option<PathBuf>,
}

#[pymethods]
impl ExchangeSealedJob {
    /// The sealed job from the parts that `__reduce__` gave.
    #[staticmethod]
    fn from_parts(spec_json: String, key_json: &str, secret_file: Option<PathBuf>) -> PyResult<Self> {
        let key = serde_json::from_str(key_json).map_err(|_| to_python(DAMAGED))?;
        Ok(Self { spec: spec_json, key, secret_file })
    }

    /// The job, given the text of the share that has wrapped its key.
    fn open(&self, share: &str) -> PyResult<ExchangeJob> {
        let spec = serde_json::from_str(&self.spec).map_err(|_| to_python(DAMAGED))?;
        guarded(|| {
            let secret = secret(self.secret_file.as_ref())?;
            let key = Share::from_text(share)?.unwrap_key(&self.key, secret.as_ref())?;
            Ok(exchange::ExchangeJob::new(spec, key).into())
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let key = serde_json::to_string(&self.key);
        let key = key.map_err(|_| internal("a wrapped key cannot be written"))?;
        let parts = (&self.spec, key, self.secret_file.as_ref()).into_pyobject(py)?;
        Ok((py.get_type::<Self>().getattr("from_parts")?, parts))
    }
}

const DAMAGED: Error = Error::Internal("a sealed job is damaged");

fn secret(file: Option<&PathBuf>) -> Result<Option<Secret>, Error> {
    file.map(|path| Secret::read(path)).transpose()
}
