//! Schemas and batches from Python.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PySchema};

pub(super) fn arrow_schema(schema: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let schema: PySchema = schema.extract()?;
    Ok(schema.into_inner().as_ref().clone())
}

pub(super) fn from_python(given: Vec<PyRecordBatch>) -> Vec<RecordBatch> {
    given.into_iter().map(PyRecordBatch::into_inner).collect()
}

pub(super) fn to_python(made: Vec<RecordBatch>) -> Vec<PyRecordBatch> {
    made.into_iter().map(PyRecordBatch::new).collect()
}
