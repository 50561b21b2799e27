//! `select_partitions` for each kind of source.

use std::path::PathBuf;

use dpsel_core::Error;
use dpsel_core::ingest::{FileFormat, Source};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::export::Release;
use crate::job::Job;
use crate::link::{self, Producer};
use crate::pairs::Pairs;
use crate::producers::{Frames, Stream};

/// Select from one object with `__arrow_c_stream__` or `__arrow_c_array__`.
#[pyfunction]
pub(crate) fn select_stream(py: Python<'_>, stream: &Bound<'_, PyAny>, job: &Job) -> PyResult<Release> {
    select_from(py, &mut Stream::new(stream)?, job)
}

/// Select from an iterator of such objects, all with the same columns.
#[pyfunction]
pub(crate) fn select_batches(py: Python<'_>, frames: &Bound<'_, PyAny>, job: &Job) -> PyResult<Release> {
    select_from(py, &mut Frames::new(frames)?, job)
}

/// Select from an iterable of `(user, item)` or `(user, [items])`.
#[pyfunction]
pub(crate) fn select_pairs(py: Python<'_>, pairs: &Bound<'_, PyAny>, job: &Job) -> PyResult<Release> {
    select_from(py, &mut Pairs::new(pairs, job.columns())?, job)
}

fn select_from(py: Python<'_>, producer: &mut impl Producer, job: &Job) -> PyResult<Release> {
    link::run(py, producer, job).and_then(Release::new)
}

/// Select from files, or glob patterns of files, read in Rust.
#[pyfunction]
#[pyo3(signature = (paths, file_format, job))]
pub(crate) fn select_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    file_format: Option<&str>,
    job: &Job,
) -> PyResult<Release> {
    let format = file_format.map(format_by_name).transpose()?;
    let running = job.start(Source::Files(paths, format), &job.control())?;
    running.finish(py, job).and_then(Release::new)
}

fn format_by_name(name: &str) -> PyResult<FileFormat> {
    match name {
        "parquet" => Ok(FileFormat::Parquet),
        "csv" => Ok(FileFormat::Csv),
        "ndjson" => Ok(FileFormat::NdJson),
        "ipc" => Ok(FileFormat::Ipc),
        _ => Err(to_python(Error::parameter(
            "file_format",
            "\"parquet\", \"csv\", \"ndjson\" or \"ipc\"",
            name,
            "leave it out to go by the file names",
        ))),
    }
}
