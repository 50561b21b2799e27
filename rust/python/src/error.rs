//! The core's errors as the Python exceptions of `dpsel.exceptions`, in one match.

use std::path::{Path, PathBuf};

use dpsel_exact::Error;
use dpsel_exact::error::STANDARD_INPUT_NAME;
use dpsel_rows::runtime::panics::caught;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::{PyErr, PyResult, Python};

mod python {
    //! The exceptions are defined in Python, so each has one home, a docstring and a builtin parent.
    use pyo3::import_exception;

    import_exception!(dpsel.exceptions, CalibrationError);
    import_exception!(dpsel.exceptions, CapacityError);
    import_exception!(dpsel.exceptions, DataError);
    import_exception!(dpsel.exceptions, DpselError);
    import_exception!(dpsel.exceptions, EntropyError);
    import_exception!(dpsel.exceptions, FileError);
    import_exception!(dpsel.exceptions, InternalError);
    import_exception!(dpsel.exceptions, InvalidParameterError);
    import_exception!(dpsel.exceptions, MemoryLimitError);
    import_exception!(dpsel.exceptions, MissingFileError);
    import_exception!(dpsel.exceptions, ReportError);
    import_exception!(dpsel.exceptions, SchemaError);
}

/// The exception for `error`, with the error's own words.
pub(crate) fn to_python(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::InvalidParameter { .. } | Error::Incompatible { .. } => {
            python::InvalidParameterError::new_err(text)
        }
        Error::Schema { .. } => python::SchemaError::new_err(text),
        Error::Data { .. } | Error::Values { .. } | Error::Source(_) => python::DataError::new_err(text),
        Error::File { action: "read", path, .. } if is_missing(&path) => {
            python::MissingFileError::new_err(text)
        }
        Error::Element { missing: true, .. } => python::MissingFileError::new_err(text),
        Error::Element { .. } | Error::File { .. } => python::FileError::new_err(text),
        Error::MemoryLimit { .. } | Error::DiskMemory { .. } => python::MemoryLimitError::new_err(text),
        Error::Capacity { .. } => python::CapacityError::new_err(text),
        Error::Entropy(_) => python::EntropyError::new_err(text),
        Error::Calibration { .. } => python::CalibrationError::new_err(text),
        Error::Report(_) => python::ReportError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        // `Internal`, and any variant that a newer core adds before it is listed here.
        _ => python::InternalError::new_err(text),
    }
}

/// Whether a path names nothing at all.
fn is_missing(path: &Path) -> bool {
    path.as_os_str() != STANDARD_INPUT_NAME && !path.exists()
}

/// Whether an exception is one of `dpsel.exceptions`.
pub(crate) fn is_own(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<python::DpselError>(py)
}

/// Run a short piece of the core; a panic in it becomes an exception instead of crossing into Python.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    caught(run).unwrap_or(Err(Error::Internal("the core panicked"))).map_err(to_python)
}

/// A name that the caller gave, as errors show it.
#[pyo3::pyfunction]
pub(crate) fn quoted(name: &str) -> String {
    dpsel_exact::error::quoted(name)
}

/// A path that the caller gave, as errors show it.
#[pyo3::pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands a path over as a value")]
pub(crate) fn quoted_path(path: PathBuf) -> String {
    dpsel_exact::error::quoted_path(&path)
}

/// A broken promise of this crate or of a library under it.
pub(crate) fn internal(what: &str) -> PyErr {
    python::InternalError::new_err(format!("internal error: {what}; please report this"))
}

/// The system's limit of memory or of threads does not allow a job even one thread of its own.
pub(crate) fn no_thread() -> PyErr {
    python::MemoryLimitError::new_err(
        "the operating system starts no thread: its limit of memory or of threads is reached; raise it, see ulimit -a",
    )
}
