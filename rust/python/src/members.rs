//! The items of a release, looked up in the rows of any table.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field};
use dpsel_core::release::write_rows;
use dpsel_exact::Error;
use dpsel_rows::ingest::{self, RowFilter};
use dpsel_rows::runtime::Control;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::to_array_pycapsules;

use crate::error::{guarded, to_python};
use crate::export::Release;
use crate::job_thread::interruptible;
use crate::producer::Producer;
use crate::source::Source;
use crate::streams::ArrowStream;

/// The items of a release.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct Members(ingest::Members);

#[pymethods]
impl Members {
    /// The items in the named columns of a release. `levels` says in JSON what makes a tree of them.
    #[new]
    #[pyo3(signature = (release, columns, levels=None))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned")]
    fn new(release: &Release, columns: Vec<String>, levels: Option<&str>) -> PyResult<Self> {
        const UNKNOWN: Error = Error::Internal("levels of a release that nobody knows");
        let items = projected(release.items(), &columns)?;
        let levels = levels.map(serde_json::from_str).transpose().map_err(|_| to_python(UNKNOWN))?;
        guarded(|| ingest::Members::new(&items, levels)).map(Self)
    }

    /// Whether each row of an Arrow table is one of them. Its columns are the item columns, in their order.
    fn rows(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<RowMask> {
        let mut stream = ArrowStream::new(table, Vec::new())?;
        guarded(|| self.0.check(&stream.schema()))?;
        let mut rows = Vec::new();
        while let Some(batch) = stream.next_batch(py)? {
            rows.extend(py.detach(|| guarded(|| self.0.rows(&batch)))?);
        }
        Ok(RowMask(rows))
    }

    /// For each row of an Arrow table a byte: the level of its lowest node that is one of them, or 0.
    fn levels<'py>(&self, py: Python<'py>, table: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let mut stream = ArrowStream::new(table, Vec::new())?;
        let mut levels = Vec::new();
        while let Some(batch) = stream.next_batch(py)? {
            levels.extend(py.detach(|| guarded(|| self.0.levels(&batch)))?);
        }
        Ok(PyBytes::new(py, &levels))
    }

    /// Write the rows of text files whose item is one of them to a new file, which errors name `shown`. With labels, all
    /// other rows come too, with these in place of their item.
    fn copy_rows(
        &self,
        py: Python<'_>,
        source: &Source,
        columns: Vec<String>,
        labels: Option<Vec<String>>,
        made: PathBuf,
        shown: PathBuf,
    ) -> PyResult<()> {
        let (files, control) = (source.files()?, &Control::new(None, None));
        let members = &self.0;
        let copy = move || {
            let filter = RowFilter { members, columns, labels, target: &shown };
            write_rows(&made, &shown, |out| ingest::filter_rows(&files, &filter, control, out))
        };
        interruptible(py, control, copy)
    }
}

fn projected(items: &RecordBatch, columns: &[String]) -> PyResult<RecordBatch> {
    let places: Vec<usize> =
        columns.iter().filter_map(|name| items.schema_ref().index_of(name).ok()).collect();
    items
        .project(&places)
        .map_err(|_| to_python(Error::Internal("a release has not the columns of its items")))
}

/// For each row whether it is an item of the release; null if it has no item.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct RowMask(Vec<Option<bool>>);

#[pymethods]
impl RowMask {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// One byte for each row: 1 if it is an item of the release, 2 if it has no item, otherwise 0.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = self.0.iter().map(|row| row.map_or(2, u8::from)).collect();
        PyBytes::new(py, &bytes)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        let array: ArrayRef = Arc::new(BooleanArray::from(self.0.clone()));
        to_array_pycapsules(py, Arc::new(Field::new("", DataType::Boolean, true)), &array, requested_schema)
    }
}
