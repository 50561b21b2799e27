//! Arrow producers: one stream, or a Python iterator of frames that each have the stream method.

use std::error::Error as _;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use dpsel_exact::Error;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator};
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};

use crate::error::to_python;
use crate::foreign::{close, replaced};
use crate::producer::Producer;

/// A stream of record batches from the Arrow C interface.
pub(crate) struct ArrowStream {
    reader: Box<dyn RecordBatchReader + Send>,
    found: Vec<String>,
    rows: u64,
}

impl ArrowStream {
    /// Open the stream of any object with `__arrow_c_stream__`, or the one batch of `__arrow_c_array__`. The types of
    /// the columns `found` were chosen by their values.
    ///
    /// Exceptions of these methods are replaced.
    pub(crate) fn new(input: &Bound<'_, PyAny>, found: Vec<String>) -> PyResult<Self> {
        let reader = Self::open(input).map_err(|error| replaced(input.py(), &error, "when it was opened"))?;
        Ok(Self { reader, found, rows: 0 })
    }

    fn open(input: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
        if input.hasattr("__arrow_c_stream__")? {
            let capsule = input.call_method0("__arrow_c_stream__")?;
            let reader = PyRecordBatchReader::from_arrow_pycapsule(capsule.cast::<PyCapsule>()?);
            return reader.map_err(|_| no_table())?.into_reader();
        }
        let capsules = input.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
        let batch = PyRecordBatch::from_arrow_pycapsule(&schema, &array);
        let batch = batch.map_err(|_| no_table())?.into_inner();
        let schema = batch.schema();
        Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
    }
}

impl Producer for ArrowStream {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    fn found(&self) -> Vec<String> {
        self.found.clone()
    }

    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let Self { reader, rows, .. } = self;
        // The closure borrows a reader that is `Send` but not `Sync`: exactly what a `&mut` may carry.
        let batch = py.detach(|| reader.next()).transpose();
        let batch = batch.map_err(|error| source_failed(py, &error, *rows))?;
        *rows += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        Ok(batch)
    }
}

/// Frames from a Python iterator, such as a query engine's batches.
pub(crate) struct Frames {
    iterator: Py<PyIterator>,
    current: ArrowStream,
    /// Frames that were taken from the iterator.
    taken: u64,
}

impl Frames {
    /// The first frame gives the schema; it may be empty, but it must be there.
    pub(crate) fn new(frames: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = frames.py();
        let failed = |error: PyErr| replaced(py, &error, "before its first frame");
        let mut frames = frames.try_iter().map_err(failed)?;
        let first = frames.next().transpose().map_err(failed)?.ok_or_else(|| {
            to_python(Error::Schema {
                what: "the iterator of frames is empty".into(),
                fix: "yield at least one frame, which may have no rows, so that the columns are known".into(),
            })
        })?;
        let current = ArrowStream::new(&first, Vec::new())?;
        Ok(Self { iterator: frames.unbind(), current, taken: 1 })
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        close(&self.iterator);
    }
}

impl Producer for Frames {
    fn schema(&self) -> SchemaRef {
        self.current.schema()
    }

    /// Every frame has the schema of the first.
    fn found(&self) -> Vec<String> {
        Vec::new()
    }

    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.current.next_batch(py)? {
                return Ok(Some(batch));
            }
            let Some(frame) = self.iterator.bind(py).clone().next() else { return Ok(None) };
            let position = format!("after {} frames", self.taken);
            let next =
                ArrowStream::new(&frame.map_err(|error| replaced(py, &error, &position))?, Vec::new())?;
            self.taken += 1;
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

/// The error of a stream that broke off.
fn source_failed(py: Python<'_>, error: &ArrowError, rows: u64) -> PyErr {
    let position = format!("after {rows} rows");
    if let Some(own) = error.source().and_then(|source| source.downcast_ref::<PyErr>()) {
        return replaced(py, own, &position);
    }
    if is_interrupt(&error.to_string()) {
        return to_python(Error::Interrupted);
    }
    to_python(Error::foreign(&format!("its Arrow stream broke off with an error {position}")))
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
fn no_table() -> PyErr {
    to_python(Error::Schema {
        what: "the Arrow data is not a table of columns, or one of its columns has a type that is not known here"
            .into(),
        fix: "pass a table with a user column and an item column of plain types".into(),
    })
}
