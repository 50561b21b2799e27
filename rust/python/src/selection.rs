//! `select_partitions`, and counting the users of items, for each kind of source.

use std::path::PathBuf;

use dpsel_core::ingest::{self, FileFormat, Source};
use dpsel_core::random::ReleaseKey;
use dpsel_core::runtime::Control;
use dpsel_core::{Error, task};
use pyo3::prelude::*;

use crate::error::{guarded, to_python};
use crate::export::Release;
use crate::job::{Asked, Job, Work};
use crate::link;
use crate::pairs::Pairs;
use crate::producers::{Frames, Stream};

/// How many items have how many users: (users, items).
type UsersPerItem = Vec<(u32, u64)>;

/// Select from one object with `__arrow_c_stream__` or `__arrow_c_array__`.
#[pyfunction]
pub(crate) fn select_stream(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    job: &Job,
    found: Vec<String>,
) -> PyResult<Release> {
    published(link::run(py, &mut Stream::new(stream, found)?, job, select)?, job)
}

/// Select from an iterator of such objects, all with the same columns.
#[pyfunction]
pub(crate) fn select_batches(py: Python<'_>, frames: &Bound<'_, PyAny>, job: &Job) -> PyResult<Release> {
    published(link::run(py, &mut Frames::new(frames)?, job, select)?, job)
}

/// Select from an iterable of `(user, item)` or `(user, [items])`.
#[pyfunction]
pub(crate) fn select_pairs(py: Python<'_>, pairs: &Bound<'_, PyAny>, job: &Job) -> PyResult<Release> {
    published(link::run(py, &mut Pairs::new(pairs, job.columns()?)?, job, select)?, job)
}

/// Select from files, or glob patterns of files, read in Rust. Errors quote paths that name no file only if told to.
#[pyfunction]
#[pyo3(signature = (paths, file_format, quoted, job))]
pub(crate) fn select_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    file_format: Option<&str>,
    quoted: bool,
    job: &Job,
) -> PyResult<Release> {
    published(run_files(py, paths, file_format, quoted, job, select)?, job)
}

/// Check, without a row, that a table with columns of these names has those of the job.
#[pyfunction]
pub(crate) fn check_names(names: Vec<String>, job: &Job) -> PyResult<()> {
    let columns = job.columns()?;
    guarded(|| ingest::check_names(names, columns))
}

/// Check, without a row, that paths name files and the first of them has the columns of the job.
#[pyfunction]
#[pyo3(signature = (paths, file_format, quoted, job))]
pub(crate) fn check_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    file_format: Option<&str>,
    quoted: bool,
    job: &Job,
) -> PyResult<()> {
    let (source, columns, control) = (named(paths, file_format, quoted)?, job.columns()?, job.control());
    py.detach(move || guarded(|| ingest::check_files(&source, columns, &control)))
}

/// Count in one object with `__arrow_c_stream__` or `__arrow_c_array__`.
#[pyfunction]
pub(crate) fn count_stream(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    job: &Job,
    found: Vec<String>,
) -> PyResult<UsersPerItem> {
    link::run(py, &mut Stream::new(stream, found)?, job, count)
}

/// Count in an iterator of such objects, all with the same columns.
#[pyfunction]
pub(crate) fn count_batches(py: Python<'_>, frames: &Bound<'_, PyAny>, job: &Job) -> PyResult<UsersPerItem> {
    link::run(py, &mut Frames::new(frames)?, job, count)
}

/// Count in an iterable of `(user, item)` or `(user, [items])`.
#[pyfunction]
pub(crate) fn count_pairs(py: Python<'_>, pairs: &Bound<'_, PyAny>, job: &Job) -> PyResult<UsersPerItem> {
    link::run(py, &mut Pairs::new(pairs, job.columns()?)?, job, count)
}

/// Count in files, or glob patterns of files, read in Rust.
#[pyfunction]
#[pyo3(signature = (paths, file_format, quoted, job))]
pub(crate) fn count_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    file_format: Option<&str>,
    quoted: bool,
    job: &Job,
) -> PyResult<UsersPerItem> {
    run_files(py, paths, file_format, quoted, job, count)
}

fn select(
    source: Source,
    asked: &Asked,
    key: &ReleaseKey,
    control: &Control,
) -> Result<task::Release, Error> {
    task::select_partitions(source, asked.selection()?, key, control)
}

fn count(source: Source, asked: &Asked, key: &ReleaseKey, control: &Control) -> Result<UsersPerItem, Error> {
    task::users_per_item(source, asked.selection()?, key, control)
}

fn published(mut release: task::Release, job: &Job) -> PyResult<Release> {
    release.report.chosen = job.chosen();
    Release::new(release)
}

pub(crate) fn run_files<T: Send + 'static>(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    file_format: Option<&str>,
    quoted: bool,
    job: &Job,
    work: Work<T>,
) -> PyResult<T> {
    let source = named(paths, file_format, quoted)?;
    job.start(source, &job.control(), work)?.finish(py, job)
}

fn named(paths: Vec<PathBuf>, file_format: Option<&str>, quoted: bool) -> PyResult<Source> {
    let format = file_format.map(format_by_name).transpose()?;
    Ok(if quoted { Source::Files(paths, format) } else { Source::Listed(paths, format) })
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
