//! The release on its way out: Arrow streams, Python values, bytes for pickles.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StructArray, UInt64Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, FieldRef};
use arrow_select::take::{TakeOptions, take};
use dpsel_core::{release, task};
use dpsel_exact::Error;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};
use pyo3_arrow::PyArray;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

use crate::error::{guarded, internal, to_python};
use crate::report_text::ReportText;
use crate::values::to_values;

/// The released items and the report. Holds nothing else of the data.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct Release {
    items: RecordBatch,
    report: Py<ReportText>,
}

impl Release {
    pub(crate) fn new(py: Python<'_>, release: task::Release) -> PyResult<Self> {
        Ok(Self { items: release.items, report: Py::new(py, ReportText::of(release.report))? })
    }

    /// Items with a text in place of a report.
    pub(crate) fn with_text(py: Python<'_>, items: RecordBatch, text: String) -> PyResult<Self> {
        Ok(Self { items, report: Py::new(py, ReportText::given(text))? })
    }

    /// The text of the report.
    pub(crate) fn text(&self) -> PyResult<&str> {
        self.report.get().text()
    }

    /// The table of the release.
    pub(crate) fn items(&self) -> &RecordBatch {
        &self.items
    }

    fn struct_field(&self) -> FieldRef {
        Arc::new(Field::new_struct("", self.items.schema_ref().fields().clone(), false))
    }
}

#[pymethods]
impl Release {
    /// The items from `to_ipc` bytes, with their report.
    #[staticmethod]
    fn from_ipc(py: Python<'_>, ipc: &[u8], report_json: String) -> PyResult<Self> {
        let items = read_ipc(ipc)
            .map_err(|error| to_python(Error::Report(format!("the pickled items are damaged: {error}"))))?;
        Ok(Self { items, report: Py::new(py, ReportText::given(report_json))? })
    }

    /// The items from columns of values, with their report. Each has the Arrow array method; a weight is a list.
    #[staticmethod]
    fn of_columns(
        py: Python<'_>,
        columns: Vec<(String, Bound<'_, PyAny>)>,
        weights: Option<Vec<f64>>,
        report_json: String,
    ) -> PyResult<Self> {
        let mut named = Vec::with_capacity(columns.len());
        for (name, column) in columns {
            let array = column.extract::<PyArray>()?.into_inner().0;
            named.push((name, array, true));
        }
        if let Some(weights) = weights {
            named.push((
                release::WEIGHT_COLUMN.to_owned(),
                Arc::new(Float64Array::from(weights)) as ArrayRef,
                false,
            ));
        }
        let items = RecordBatch::try_from_iter_with_nullable(named)
            .map_err(|_| to_python(Error::Report("the columns of its items differ in length".into())))?;
        Ok(Self { items, report: Py::new(py, ReportText::given(report_json))? })
    }

    /// The report.
    #[getter]
    fn report(&self, py: Python<'_>) -> Py<ReportText> {
        self.report.clone_ref(py)
    }

    /// Number of released items.
    #[getter]
    fn num_items(&self) -> usize {
        self.items.num_rows()
    }

    /// Names of the columns, the weight last if there is one.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.items.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Columns as lists of Python values: all, or the one of a name; of all rows, or of those at some places.
    #[pyo3(signature = (name=None, places=None))]
    fn to_columns<'py>(
        &self,
        py: Python<'py>,
        name: Option<&str>,
        places: Option<Vec<u64>>,
    ) -> PyResult<Vec<Bound<'py, PyList>>> {
        let columns = self.items.schema_ref().fields().iter().zip(self.items.columns());
        let asked = columns.filter(|(field, _)| name.is_none_or(|name| name == field.name()));
        let places = places.map(UInt64Array::from);
        let taken = |column: &ArrayRef| match &places {
            Some(places) => take(column, places, Some(TakeOptions { check_bounds: true }))
                .map_err(|_| internal("a place is beyond the release")),
            None => Ok(Arc::clone(column)),
        };
        asked.map(|(field, column)| to_values(py, field.name(), &taken(column)?)).collect()
    }

    /// Write the items to a file, in the format of its extension, all or nothing.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned")]
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| guarded(|| release::write_table(&self.items, &path)))
    }

    /// The items as an Arrow IPC stream.
    fn to_ipc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = write_ipc(&self.items).map_err(|_| internal("the release does not serialise"))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.items.schema_ref().as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let array: ArrayRef = Arc::new(StructArray::from(self.items.clone()));
        let arrays = Box::new(ArrayIterator::new([Ok(array)], self.struct_field()));
        to_stream_pycapsule(py, arrays, requested_schema)
    }

    fn __len__(&self) -> usize {
        self.items.num_rows()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, '_>> {
        let rebuild = py.get_type::<Self>().getattr("from_ipc")?;
        Ok((rebuild, (self.to_ipc(py)?, self.report.get().text()?)))
    }
}

/// How Python rebuilds a pickled object: a function and its arguments.
type Reduced<'py, 'a> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, &'a str));

fn write_ipc(items: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), items.schema_ref())?;
    writer.write(items)?;
    writer.into_inner()
}

/// The first bytes of every Arrow IPC stream.
const STREAM_MARK: [u8; 4] = [0xff; 4];
/// The last ones. The reader does without, and so would take a stream cut off before its batch for an empty one.
const END_MARK: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

fn read_ipc(ipc: &[u8]) -> Result<RecordBatch, ArrowError> {
    if !ipc.starts_with(&STREAM_MARK) {
        // Without the mark the first bytes would be taken for a length, and as much memory be asked for.
        return Err(ArrowError::IpcError("it is not an Arrow stream".into()));
    }
    if !ipc.ends_with(&END_MARK) {
        return Err(ArrowError::IpcError("it is cut off".into()));
    }
    let reader = StreamReader::try_new(Cursor::new(ipc), None)?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    match batches.as_slice() {
        [] => Ok(RecordBatch::new_empty(schema)),
        [batch] => Ok(batch.clone()),
        _ => Err(ArrowError::IpcError("more than one batch".into())),
    }
}

/// Write a text file, all or nothing.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned")]
pub(crate) fn write_text(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
    py.detach(|| guarded(|| release::write_text_atomically(&path, text)))
}

/// Write a new text file, all or nothing; false if there is one.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned")]
pub(crate) fn create_text(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<bool> {
    py.detach(|| guarded(|| release::create_text(&path, text)))
}
