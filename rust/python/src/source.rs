//! Data on its way in: files that the core reads, or an object of Python that makes batches.

use std::path::PathBuf;

use dpsel_core::Error;
use dpsel_core::ingest::{self, Dialect, FileFormat, Source as CoreSource};
use dpsel_core::runtime::Control;
use dpsel_core::task::Outcome;
use pyo3::prelude::*;

use crate::error::{guarded, to_python};
use crate::job::Job;
use crate::link;
use crate::pairs::Pairs;
use crate::producer::Producer;
use crate::streams::{Frames, Stream};
use crate::worker::Running;

/// Data that is read when a job runs.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct Source {
    data: Data,
    /// The names of the columns, where these are known before the data is read.
    names: Option<Vec<String>>,
}

enum Data {
    /// Files, or glob patterns of files. Errors quote paths that name no file only if `quoted`.
    Files { paths: Vec<PathBuf>, format: Option<FileFormat>, quoted: bool },
    /// An object with `__arrow_c_stream__` or `__arrow_c_array__`. The types of the columns `found` come from values.
    Stream { stream: Py<PyAny>, found: Vec<String> },
    /// An iterator of such objects, all with the same columns.
    Frames(Py<PyAny>),
    /// An iterable of `(user, item)` or `(user, [items])`.
    Pairs(Py<PyAny>),
}

#[pymethods]
impl Source {
    /// Files, or glob patterns of files, read in Rust. Errors quote paths that name no file only if told to. With a
    /// delimiter they are text, and `header` says whether the first line has names.
    #[staticmethod]
    #[pyo3(signature = (paths, file_format, *, quoted, delimiter=None, header=true))]
    fn files(
        paths: Vec<PathBuf>,
        file_format: Option<&str>,
        quoted: bool,
        delimiter: Option<&str>,
        header: bool,
    ) -> PyResult<Self> {
        let format = match delimiter {
            None => file_format.map(format_by_name).transpose()?,
            Some(delimiter) => Some(FileFormat::Csv(Dialect::new(delimiter, header).map_err(to_python)?)),
        };
        Ok(Self { data: Data::Files { paths, format, quoted }, names: None })
    }

    /// The files that the paths name, each with the place of its path, from 0 on. No file is opened.
    fn named_files(&self, py: Python<'_>) -> PyResult<Vec<(usize, PathBuf)>> {
        let Data::Files { paths, format, quoted } = &self.data else { return Ok(Vec::new()) };
        let files = named(paths.clone(), *format, *quoted);
        py.detach(move || guarded(|| ingest::named_files(&files, &Control::new(None, None))))
    }

    /// One object with `__arrow_c_stream__` or `__arrow_c_array__`.
    #[staticmethod]
    fn stream(stream: Py<PyAny>, found: Vec<String>, names: Option<Vec<String>>) -> Self {
        Self { data: Data::Stream { stream, found }, names }
    }

    /// An iterator of such objects, all with the same columns.
    #[staticmethod]
    fn batches(frames: Py<PyAny>, names: Option<Vec<String>>) -> Self {
        Self { data: Data::Frames(frames), names }
    }

    /// An iterable of `(user, item)` or `(user, [items])`.
    #[staticmethod]
    fn pairs(pairs: Py<PyAny>) -> Self {
        Self { data: Data::Pairs(pairs), names: None }
    }
}

impl Source {
    /// Read the data and do what the job asks for.
    pub(crate) fn run(&self, py: Python<'_>, job: &Job) -> PyResult<Outcome> {
        match &self.data {
            Data::Files { paths, format, quoted } => {
                let files = named(paths.clone(), *format, *quoted);
                Running::start(py, files, job, &job.control())?.finish(py, job)
            }
            Data::Stream { stream, found } => {
                link::run(py, &mut Stream::new(stream.bind(py), found.clone())?, job)
            }
            Data::Frames(frames) => link::run(py, &mut Frames::new(frames.bind(py))?, job),
            Data::Pairs(pairs) => link::run(py, &mut Pairs::new(pairs.bind(py), job.columns()?)?, job),
        }
    }

    /// Refuse missing columns and files without reading a row, where that is possible.
    ///
    /// `declared` is a table without rows, which has the types.
    pub(crate) fn check(
        &self,
        py: Python<'_>,
        job: &Job,
        declared: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let columns = job.columns()?;
        if let Data::Files { paths, format, quoted } = &self.data {
            let (files, control) = (named(paths.clone(), *format, *quoted), job.control());
            return py.detach(move || guarded(|| ingest::check_files(&files, columns, &control)));
        }
        self.names
            .as_ref()
            .map_or(Ok(()), |names| guarded(|| ingest::check_names(names.clone(), columns)))?;
        let Some(declared) = declared else { return Ok(()) };
        let schema = Stream::new(declared, Vec::new())?.schema();
        guarded(|| ingest::check_schema(&schema, columns))
    }
}

fn named(paths: Vec<PathBuf>, format: Option<FileFormat>, quoted: bool) -> CoreSource {
    if quoted { CoreSource::Files(paths, format) } else { CoreSource::Listed(paths, format) }
}

fn format_by_name(name: &str) -> PyResult<FileFormat> {
    match name {
        "parquet" => Ok(FileFormat::Parquet),
        "csv" => Ok(FileFormat::Csv(Dialect::COMMAS)),
        "tsv" => Ok(FileFormat::Csv(Dialect::TABS)),
        "ndjson" => Ok(FileFormat::NdJson),
        "ipc" => Ok(FileFormat::Ipc),
        _ => Err(to_python(Error::parameter(
            "file_format",
            "\"parquet\", \"csv\", \"tsv\", \"ndjson\" or \"ipc\"",
            name,
            "leave it out to go by the file names",
        ))),
    }
}
