//! Packed values on the driver.

use dpsel_engines::exchange::{Packed, added_up};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;

use super::batches::from_python;
use crate::error::guarded;

/// Packed values on the driver: nothing shows them, and they are wiped when they are no longer needed.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangePacked {
    pub(super) packed: Packed,
}

impl From<Packed> for ExchangePacked {
    fn from(packed: Packed) -> Self {
        Self { packed }
    }
}

#[pymethods]
impl ExchangePacked {
    /// The packed values of the batches that tasks returned.
    #[new]
    #[pyo3(signature = (batches = Vec::new()))]
    fn new(batches: Vec<PyRecordBatch>) -> PyResult<Self> {
        let gathered = from_python(batches);
        guarded(|| Packed::gathered(&gathered)).map(Self::from)
    }

    /// These values, followed by others.
    fn followed_by(&self, more: &Self) -> Self {
        self.packed.with(&more.packed).into()
    }

    /// These weights and others, one weight for each item.
    fn added_up(&self, py: Python<'_>, more: &Self) -> PyResult<Self> {
        py.detach(|| guarded(|| added_up(&self.packed, &more.packed))).map(Self::from)
    }

    /// Number of bytes.
    fn __len__(&self) -> usize {
        self.packed.bytes().len()
    }
}
