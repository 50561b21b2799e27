//! Top-k for each kind of source, and from counts.

use std::path::PathBuf;

use dpsel_core::ingest::{Columns, PublicList, Source};
use dpsel_core::random::ReleaseKey;
use dpsel_core::runtime::Control;
use dpsel_core::task::{TopKRelease, TopKRequest};
use dpsel_core::{Error, task, top_k};
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::prelude::*;

use crate::error::{guarded, internal, to_python};
use crate::export::Release;
use crate::job::{Asked, Job, key_bytes};
use crate::link::{self, Producer};
use crate::pairs::Pairs;
use crate::producers::{Frames, Stream};
use crate::selection::run_files;

/// Positions (none for an item that nobody holds), noisy counts, and the report as JSON.
type FromCounts = (Vec<Option<usize>>, Vec<Option<i64>>, String);

/// Draw from one object with `__arrow_c_stream__` or `__arrow_c_array__`.
#[pyfunction]
pub(crate) fn top_k_stream(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    job: &Job,
    found: Vec<String>,
) -> PyResult<Release> {
    published(link::run(py, &mut Stream::new(stream, found)?, job, draw)?, job)
}

/// Draw from an iterator of such objects, all with the same columns.
#[pyfunction]
pub(crate) fn top_k_batches(py: Python<'_>, frames: &Bound<'_, PyAny>, job: &Job) -> PyResult<Release> {
    published(link::run(py, &mut Frames::new(frames)?, job, draw)?, job)
}

/// Draw from an iterable of `(user, item)` or `(user, [items])`.
#[pyfunction]
pub(crate) fn top_k_pairs(py: Python<'_>, pairs: &Bound<'_, PyAny>, job: &Job) -> PyResult<Release> {
    published(link::run(py, &mut Pairs::new(pairs, job.columns()?)?, job, draw)?, job)
}

/// Draw from files, or glob patterns of files, read in Rust.
#[pyfunction]
#[pyo3(signature = (paths, file_format, quoted, job))]
pub(crate) fn top_k_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    file_format: Option<&str>,
    quoted: bool,
    job: &Job,
) -> PyResult<Release> {
    published(run_files(py, paths, file_format, quoted, job, draw)?, job)
}

/// Draw from a buffer or a sequence of integers.
#[pyfunction]
#[pyo3(signature = (counts, request_json, *, test_key=None, chosen=None))]
pub(crate) fn top_k_counts(
    py: Python<'_>,
    counts: &Bound<'_, PyAny>,
    request_json: &str,
    test_key: Option<&[u8]>,
    chosen: Option<String>,
) -> PyResult<FromCounts> {
    let test_key = test_key.map(key_bytes).transpose()?;
    let request = guarded(|| TopKRequest::from_json(request_json))?;
    let counts = integers(py, counts)?;
    py.detach(|| {
        guarded(|| {
            let key = test_key
                .map_or_else(ReleaseKey::from_system, |bytes| Ok(ReleaseKey::insecure_test(bytes)))?;
            let (items, mut report) = task::top_k_from_counts(&counts, &request, &key)?;
            report.chosen = chosen;
            let (positions, noisy) = items.into_iter().unzip();
            Ok((positions, noisy, report.to_json()?))
        })
    })
}

/// The sampler of the Joint paper as published, for comparison: no release is made with it.
#[pyfunction]
pub(crate) fn joint_by_matrix(
    py: Python<'_>,
    counts: &Bound<'_, PyAny>,
    k: usize,
    epsilon: f64,
    test_key: &[u8],
) -> PyResult<Vec<usize>> {
    let key = ReleaseKey::insecure_test(key_bytes(test_key)?);
    let counts = integers(py, counts)?;
    py.detach(|| guarded(|| top_k::joint_by_matrix(&counts, k, epsilon, &key)))
}

/// The numbers that a request is calibrated to, as JSON.
#[pyfunction]
pub(crate) fn calibrate_top_k(request_json: &str) -> PyResult<String> {
    let calibration = guarded(|| TopKRequest::from_json(request_json)?.calibrate())?;
    serde_json::to_string(&calibration).map_err(|_| internal("a calibration does not serialise"))
}

/// How far the answer is off at most, with this probability, among so many items.
#[pyfunction]
pub(crate) fn top_k_loss(request_json: &str, items: u64, probability: f64) -> PyResult<Option<f64>> {
    guarded(|| task::loss_bound(&TopKRequest::from_json(request_json)?, items, probability))
}

fn draw(source: Source, asked: &Asked, key: &ReleaseKey, control: &Control) -> Result<TopKRelease, Error> {
    let Asked::TopK(request, domain) = asked else {
        return Err(Error::Internal("a top-k was started with the request of a selection"));
    };
    task::top_k_from_rows(source, domain.as_ref(), request, key, control)
}

fn published(mut release: TopKRelease, job: &Job) -> PyResult<Release> {
    release.report.chosen = job.chosen();
    Release::of_top_k(release)
}

/// Read an iterable of pairs whose items are a public list.
pub(crate) fn read_list(pairs: &Bound<'_, PyAny>, columns: Option<&Columns>) -> PyResult<PublicList> {
    let columns = columns.ok_or_else(|| internal("no columns were named"))?;
    let mut pairs_of_list = Pairs::of_argument(pairs, columns, "domain=")?;
    let schema = pairs_of_list.schema();
    let mut batches = vec![];
    while let Some(batch) = pairs_of_list.next_batch(pairs.py())? {
        batches.push(batch);
    }
    Ok(PublicList::new(schema, batches))
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
