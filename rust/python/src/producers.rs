//! Arrow producers: one stream, or a Python iterator of frames that each have the stream method.

use std::error::Error as _;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use dpsel_core::Error;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use pyo3_arrow::input::AnyRecordBatch;

use crate::error::to_python;
use crate::link::Producer;

/// A stream of record batches from the Arrow C interface.
pub(crate) struct Stream(Box<dyn RecordBatchReader + Send>);

impl Stream {
    pub(crate) fn new(input: AnyRecordBatch) -> PyResult<Self> {
        input.into_reader().map(Self)
    }
}

impl Producer for Stream {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let reader = &mut self.0;
        // The closure borrows a reader that is `Send` but not `Sync`: exactly what a `&mut` may carry.
        py.detach(|| reader.next()).transpose().map_err(|error| source_failed(py, &error))
    }
}

/// Frames from a Python iterator, such as a query engine's batches.
pub(crate) struct Frames {
    frames: Py<PyIterator>,
    current: Stream,
}

impl Frames {
    /// The first frame gives the schema; it may be empty, but it must be there.
    pub(crate) fn new(frames: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut frames = frames.try_iter()?;
        let first = frames.next().transpose()?.ok_or_else(|| {
            to_python(Error::Schema {
                what: "the iterator of frames is empty".into(),
                fix: "yield at least one frame, which may have no rows, so that the columns are known".into(),
            })
        })?;
        let current = Stream::new(first.extract()?)?;
        Ok(Self { frames: frames.unbind(), current })
    }
}

impl Producer for Frames {
    fn schema(&self) -> SchemaRef {
        self.current.schema()
    }

    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.current.next_batch(py)? {
                return Ok(Some(batch));
            }
            let Some(frame) = self.frames.bind(py).clone().next() else { return Ok(None) };
            let next = Stream::new(frame?.extract()?)?;
            if next.schema().fields() != self.current.schema().fields() {
                return Err(to_python(Error::Schema {
                    what: "a frame of the iterator has other columns or types than the first".into(),
                    fix: "make every frame alike".into(),
                }));
            }
            self.current = next;
        }
    }
}

/// The producer's own exception where Arrow kept it, else its text.
fn source_failed(py: Python<'_>, error: &ArrowError) -> PyErr {
    let own = error.source().and_then(|source| source.downcast_ref::<PyErr>());
    own.map_or_else(|| to_python(Error::Source(error.to_string())), |own| own.clone_ref(py))
}
