//! Arrow producers: one stream, or a Python iterator of frames that each have the stream method.

use std::error::Error as _;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use dpsel_core::Error;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator};
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};

use crate::error::to_python;
use crate::link::Producer;

/// A stream of record batches from the Arrow C interface.
pub(crate) struct Stream(Box<dyn RecordBatchReader + Send>);

impl Stream {
    /// Open the stream of any object with `__arrow_c_stream__`, or the one batch of `__arrow_c_array__`.
    ///
    /// Exceptions of these methods pass through.
    pub(crate) fn new(input: &Bound<'_, PyAny>) -> PyResult<Self> {
        if input.hasattr("__arrow_c_stream__")? {
            let capsule = input.call_method0("__arrow_c_stream__")?;
            let reader = PyRecordBatchReader::from_arrow_pycapsule(capsule.cast::<PyCapsule>()?);
            return reader.map_err(|error| no_table(input.py(), &error))?.into_reader().map(Self);
        }
        let capsules = input.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
        let batch = PyRecordBatch::from_arrow_pycapsule(&schema, &array);
        let batch = batch.map_err(|error| no_table(input.py(), &error))?.into_inner();
        let schema = batch.schema();
        Ok(Self(Box::new(RecordBatchIterator::new([Ok(batch)], schema))))
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
        let current = Stream::new(&first)?;
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
            let next = Stream::new(&frame?)?;
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
    if let Some(own) = error.source().and_then(|source| source.downcast_ref::<PyErr>()) {
        return own.clone_ref(py);
    }
    let text = error.to_string();
    if is_interrupt(&text) {
        return to_python(Error::Interrupted);
    }
    // pyarrow adds the whole traceback.
    // Otherwise: there is no traceback.
    let own = text.split(" Detail: Python exception").next().unwrap_or(&text);
    to_python(Error::Source(own.trim_end_matches('.').to_owned()))
}

/// Whether Arrow's text for a failed stream is that of a `KeyboardInterrupt`.
///
/// Python code behind the C interface, such as a generator behind a pyarrow reader, runs on the thread that a Ctrl-C
/// interrupts, but of its exception only the text comes through: a traceback, whose last line is the exception.
fn is_interrupt(text: &str) -> bool {
    let exception =
        text.split_once("Python exception: ").and_then(|(_, raised)| raised.trim_end().lines().last());
    exception == Some("KeyboardInterrupt")
}

/// An Arrow object that is one column, or that has a type which Arrow in Rust does not know.
fn no_table(py: Python<'_>, error: &PyErr) -> PyErr {
    to_python(Error::Schema {
        what: format!("the Arrow data is not a table of columns: {}", error.value(py)),
        fix: "pass a table with a user column and an item column of plain types".into(),
    })
}
