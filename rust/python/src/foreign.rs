//! Exceptions of code that is not ours: a source's own message may quote a value, so none of it is passed on.
//!
//! What stays is the class of the exception and how far the source got (law 5).

use dpsel_core::Error;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::intern;
use pyo3::prelude::*;

use crate::error::{is_own, to_python};

/// The longest name of a class that is repeated.
const LONGEST_NAME: usize = 80;

/// The error that stands for an exception of a source; `position` says how far it got.
///
/// An error of ours that was made on the way is kept. So is what ends a program rather than reports an error (a
/// `SystemExit`, a cancelled task), without what it was chained to.
pub(crate) fn replaced(py: Python<'_>, error: PyErr, position: &str) -> PyErr {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return to_python(Error::Interrupted);
    }
    if !error.is_instance_of::<PyException>(py) {
        return unchained(py, error);
    }
    // An error that was made in this crate has not been through any frame of Python.
    if is_own(py, &error) && error.traceback(py).is_none() {
        return error;
    }
    to_python(Error::foreign(&format!("it raised {} {position}", class_name(py, &error))))
}

/// The name of the class of an exception, if it is a plain name.
fn class_name(py: Python<'_>, error: &PyErr) -> String {
    // Otherwise: no name, which is said below.
    let name = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    let is_plain = name.len() <= LONGEST_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain && !name.is_empty() { name } else { "an exception".into() }
}

/// The exception without those it was raised from or beside.
fn unchained(py: Python<'_>, error: PyErr) -> PyErr {
    error.set_cause(py, None);
    let cut = error.value(py).setattr(intern!(py, "__context__"), py.None());
    if cut.is_ok() {
        error
    } else {
        to_python(Error::Internal("an exception cannot be cut off from its context"))
    }
}
