//! Data on its way in: files that the core reads, or an object of Python that makes batches.

use std::path::PathBuf;
use std::sync::Mutex;

use arrow_schema::Schema;
use dpsel_exact::Error;
use dpsel_exact::error::quoted;
use dpsel_rows::ingest::{self, Dialect, FileFormat, FolderValues, Source as CoreSource, WholeFile};
use dpsel_rows::runtime::Control;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch_channel;
use crate::consumer::Consumer;
use crate::error::{guarded, internal, to_python};
use crate::job::Job;
use crate::job_thread::{Running, interruptible};
use crate::pairs::Pairs;
use crate::producer::Producer;
use crate::streams::{ArrowStream, Frames};

/// A file that was read to its end.
type FileContent<'py> = (PathBuf, Option<Bound<'py, PyBytes>>, FolderValues);

/// Data that is read when a job runs.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct Source {
    data: Data,
    /// The names of the columns, where these are known before the data is read.
    names: Option<Vec<String>>,
    /// What the check has opened to see the types of the columns, and the job reads.
    opened: Mutex<Option<Box<dyn Producer + Send>>>,
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
    /// delimiter they are text, and the rest says what is different in it.
    #[staticmethod]
    #[pyo3(signature = (paths, file_format, *, quoted, delimiter=None, header=true, quote="\"", escape=""))]
    #[pyo3(name = "files")]
    fn of_files(
        paths: Vec<PathBuf>,
        file_format: Option<&str>,
        quoted: bool,
        delimiter: Option<&str>,
        header: bool,
        quote: &str,
        escape: &str,
    ) -> PyResult<Self> {
        let format = match delimiter {
            None => file_format.map(format_by_name).transpose()?,
            Some(delimiter) => {
                let dialect = Dialect::new(delimiter, header, quote, escape).map_err(to_python)?;
                Some(FileFormat::Csv(dialect))
            }
        };
        Ok(Self { data: Data::Files { paths, format, quoted }, names: None, opened: Mutex::default() })
    }

    /// The files that the paths name. No file is opened.
    fn named_files(&self, py: Python<'_>) -> PyResult<Vec<PathBuf>> {
        let Data::Files { paths, format, quoted } = &self.data else { return Ok(Vec::new()) };
        let files = named(paths.clone(), *format, *quoted);
        py.detach(move || guarded(|| ingest::named_files(&files, &Control::new(None, None))))
    }

    /// The files, of which the item columns were read to their ends: each with its bytes if it was a pipe, and with the
    /// columns that its folders tell.
    fn whole_files<'py>(&self, py: Python<'py>, items: Vec<String>) -> PyResult<Vec<FileContent<'py>>> {
        let (files, control) = (self.files()?, &Control::new(None, None));
        let found = interruptible(py, control, move || ingest::whole_files(&files, items, control))?;
        let whole =
            |file: WholeFile| (file.path, file.bytes.map(|bytes| PyBytes::new(py, &bytes)), file.folders);
        Ok(found.into_iter().map(whole).collect())
    }

    /// One object with `__arrow_c_stream__` or `__arrow_c_array__`.
    #[staticmethod]
    fn stream(stream: Py<PyAny>, found: Vec<String>, names: Option<Vec<String>>) -> Self {
        Self { data: Data::Stream { stream, found }, names, opened: Mutex::default() }
    }

    /// An iterator of such objects, all with the same columns.
    #[staticmethod]
    fn batches(frames: Py<PyAny>, names: Option<Vec<String>>) -> Self {
        Self { data: Data::Frames(frames), names, opened: Mutex::default() }
    }

    /// An iterable of `(user, item)` or `(user, [items])`.
    #[staticmethod]
    fn pairs(pairs: Py<PyAny>) -> Self {
        Self { data: Data::Pairs(pairs), names: None, opened: Mutex::default() }
    }
}

impl Source {
    /// The files that it names.
    pub(crate) fn files(&self) -> PyResult<CoreSource> {
        match &self.data {
            Data::Files { paths, format, quoted } => Ok(named(paths.clone(), *format, *quoted)),
            Data::Stream { .. } | Data::Frames(_) | Data::Pairs(_) => {
                Err(to_python(Error::Internal("a stream is no file")))
            }
        }
    }

    /// Read the data and do what the job asks for.
    pub(crate) fn run<W: Consumer>(&self, py: Python<'_>, job: &W) -> PyResult<W::Made> {
        match &self.data {
            Data::Files { paths, format, quoted } => {
                let files = named(paths.clone(), *format, *quoted);
                Running::start(py, files, job)?.finish(py, job)
            }
            Data::Stream { .. } | Data::Frames(_) => {
                let opened = self.opened.lock().map_err(|_| internal("a source was left by a panic"))?.take();
                let mut producer = opened.map_or_else(|| self.open(py), Ok)?;
                batch_channel::run(py, &mut *producer, job)
            }
            Data::Pairs(pairs) => {
                batch_channel::run(py, &mut Pairs::new(pairs.bind(py), job.columns()?)?, job)
            }
        }
    }

    /// Refuse columns that are missing or cannot be keys, and files, without reading a row, where that is possible.
    ///
    /// `declared` is a table without rows, which has the types. Without it, and without names, only the opened stream
    /// tells them.
    pub(crate) fn check(
        &self,
        py: Python<'_>,
        job: &Job,
        declared: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let columns = job.columns()?;
        if let Data::Files { paths, format, quoted } = &self.data {
            let (files, control) = (named(paths.clone(), *format, *quoted), job.control());
            return py.detach(move || {
                guarded(|| job.request().check_lists(&ingest::check_files(&files, columns, &control)?))
            });
        }
        if let Some(names) = &self.names {
            guarded(|| ingest::check_names(names.clone(), columns))?;
        }
        if let Some(declared) = declared {
            return self.check_schema(&ArrowStream::new(declared, Vec::new())?.schema(), job);
        }
        let (Data::Stream { .. }, None) = (&self.data, &self.names) else { return Ok(()) };
        let producer = self.open(py)?;
        self.check_schema(&producer.schema(), job)?;
        *self.opened.lock().map_err(|_| internal("a source was left by a panic"))? = Some(producer);
        Ok(())
    }

    fn check_schema(&self, schema: &Schema, job: &Job) -> PyResult<()> {
        let found = if let Data::Stream { found, .. } = &self.data { found.as_slice() } else { &[] };
        let columns = job.columns()?;
        guarded(|| job.request().check_lists(&ingest::check_schema(schema, columns, found)?))
    }

    /// Open an object that makes batches.
    fn open(&self, py: Python<'_>) -> PyResult<Box<dyn Producer + Send>> {
        match &self.data {
            Data::Stream { stream, found } => Ok(Box::new(ArrowStream::new(stream.bind(py), found.clone())?)),
            Data::Frames(frames) => Ok(Box::new(Frames::new(frames.bind(py))?)),
            Data::Files { .. } | Data::Pairs(_) => Err(internal("a source makes no batches")),
        }
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
            quoted(name),
            "leave it out to go by the file names",
        ))),
    }
}
