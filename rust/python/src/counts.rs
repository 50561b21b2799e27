//! A top-k from counts: any vector of integers in Python.

use dpsel_core::task;
use dpsel_exact::Error;
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::prelude::*;

use crate::error::{guarded, to_python};
use crate::job::Job;

/// Positions (none for an item that nobody holds), noisy counts, and the report as JSON.
type FromCounts = (Vec<Option<usize>>, Vec<Option<i64>>, String);

/// Draw from a buffer or a sequence of integers.
#[pyfunction]
pub(crate) fn top_k_counts(py: Python<'_>, counts: &Bound<'_, PyAny>, job: &Job) -> PyResult<FromCounts> {
    let counts = integers(py, counts)?;
    let key = job.draw_key()?;
    py.detach(|| {
        guarded(|| {
            let request = job.request().clone().into_top_k()?;
            let (items, mut report) = task::top_k_from_counts(&counts, &request, &key)?;
            report.chosen = job.chosen();
            let (positions, noisy) = items.into_iter().unzip();
            Ok((positions, noisy, report.to_json()?))
        })
    })
}

/// The counts as 64-bit integers, copied so that nobody changes them meanwhile.
fn integers(py: Python<'_>, counts: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    if PyUntypedBuffer::get(counts).is_ok_and(|buffer| !is_vector(&buffer)) {
        return Err(no_counts());
    }
    if let Ok(buffer) = PyBuffer::<i64>::get(counts) {
        return buffer.to_vec(py);
    }
    macro_rules! narrow {
        ($($kind:ty),*) => {
            $(if let Ok(buffer) = PyBuffer::<$kind>::get(counts) {
                return Ok(buffer.to_vec(py)?.into_iter().map(i64::from).collect());
            })*
        };
    }
    narrow!(i32, u32, i16, u16, i8, u8);
    if let Ok(buffer) = PyBuffer::<u64>::get(counts) {
        // Otherwise: out of range anyway, and refused as that.
        return Ok(buffer.to_vec(py)?.into_iter().map(|n| i64::try_from(n).unwrap_or(i64::MAX)).collect());
    }
    whole_numbers(counts).ok_or_else(no_counts)
}

/// Whether it has one dimension, and the order of bytes of this machine, by which it will be read.
fn is_vector(buffer: &PyUntypedBuffer) -> bool {
    let foreign = if cfg!(target_endian = "little") { b">!".as_slice() } else { b"<" };
    let order = buffer.format().to_bytes().first();
    buffer.dimensions() == 1 && !order.is_some_and(|order| foreign.contains(order))
}

fn no_counts() -> PyErr {
    to_python(Error::Schema {
        what: "counts must be whole numbers in one dimension".into(),
        fix: "give an array or a list of integers, without missing values".into(),
    })
}

/// A sequence of Python ints; floats and bools are none.
fn whole_numbers(counts: &Bound<'_, PyAny>) -> Option<Vec<i64>> {
    let is_int = |n: &Bound<'_, PyAny>| n.is_exact_instance_of::<pyo3::types::PyInt>();
    let numbers = counts.try_iter().ok()?.map(|number| {
        let number = number.ok().filter(is_int)?;
        // Otherwise: out of range, and refused as that.
        Some(number.extract::<i64>().unwrap_or(i64::MAX))
    });
    numbers.collect()
}
