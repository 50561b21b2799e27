//! What every kind of source in Python has to do: make batches, one after the other.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;

/// Something that makes batches while attached to the interpreter.
pub(crate) trait Producer {
    /// The schema of every batch.
    fn schema(&self) -> SchemaRef;
    /// The columns whose types were found out from values, not declared.
    fn found(&self) -> Vec<String>;
    /// The next batch, or `None` at the end.
    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>>;
}
