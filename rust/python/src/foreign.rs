//! Exceptions of foreign code. The message of a source may quote a value, so it is dropped (law 5).
//!
//! The class of the exception and the position in the source stay.

use dpsel_exact::Error;
use pyo3::exceptions::asyncio::CancelledError;
use pyo3::exceptions::{PyBaseException, PyException, PyGeneratorExit, PyKeyboardInterrupt, PySystemExit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::error::{is_own, to_python};

/// The longest name of a class that is repeated.
const LONGEST_NAME: usize = 80;

/// The error that stands for an exception of a source; `position` says how far it got.
///
/// An error of ours that was made on the way is kept. So is the kind of what ends a program rather than reports an
/// error (a `SystemExit`, a cancelled task). All others are replaced, whatever class they derive from: a panic of a
/// library in Rust is no `Exception`, and quotes data.
pub(crate) fn replaced(py: Python<'_>, error: &PyErr, position: &str) -> PyErr {
    if let Some(end) = ends_the_program(py, error) {
        return end;
    }
    if let Some(own) = raised_here(py, error) {
        return own;
    }
    to_python(Error::foreign(&format!("it raised {} {position}", class_name(py, error))))
}

/// A fresh copy of an error of ours, if this package raised it: foreign code may raise its classes with any words.
///
/// An error that was made in this crate has not been through any frame of Python. The frames of another one, and what it
/// is chained to, may show values.
fn raised_here(py: Python<'_>, error: &PyErr) -> Option<PyErr> {
    if !is_own(py, error) {
        return None;
    }
    let mut last = error.traceback(py).map(Bound::into_any);
    while let Some(next) = last.as_ref().and_then(|last| last.getattr(intern!(py, "tb_next")).ok()) {
        if next.is_none() {
            break;
        }
        last = Some(next);
    }
    if !last.is_none_or(|last| module_of(&last).is_ok_and(|name| is_of_package(&name))) {
        return None;
    }
    let text = error.value(py).str().ok()?;
    error.get_type(py).call1((text,)).ok().map(PyErr::from_value)
}

/// The name of the module whose code an entry of a traceback is in.
fn module_of(entry: &Bound<'_, PyAny>) -> PyResult<String> {
    let frame = entry.getattr(intern!(entry.py(), "tb_frame"))?;
    frame.getattr(intern!(entry.py(), "f_globals"))?.get_item(intern!(entry.py(), "__name__"))?.extract()
}

fn is_of_package(module: &str) -> bool {
    module.split('.').next() == Some("dpsel")
}

/// The exception that stands for one of foreign code: as in the core, for sources that Python opens.
#[pyfunction]
pub(crate) fn foreign_error<'py>(error: Bound<'py, PyAny>, position: &str) -> Bound<'py, PyBaseException> {
    let py = error.py();
    replaced(py, &PyErr::from_value(error), position).into_value(py).into_bound(py)
}

/// A fresh exception that ends the program, or the task, as this one would have.
fn ends_the_program(py: Python<'_>, error: &PyErr) -> Option<PyErr> {
    // Most are, and then `asyncio` need not be imported.
    if error.is_instance_of::<PyException>(py) {
        return None;
    }
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Some(to_python(Error::Interrupted));
    }
    if error.is_instance_of::<PySystemExit>(py) {
        let code = error.value(py).getattr(intern!(py, "code")).ok();
        if code.as_ref().is_some_and(pyo3::Bound::is_none) {
            return Some(PySystemExit::new_err(()));
        }
        // Otherwise: a text, which Python would print, with the status 1.
        let code = code.and_then(|code| code.extract::<i32>().ok()).unwrap_or(1);
        return Some(PySystemExit::new_err((code,)));
    }
    if error.is_instance_of::<PyGeneratorExit>(py) {
        return Some(PyGeneratorExit::new_err(()));
    }
    error.is_instance_of::<CancelledError>(py).then(|| CancelledError::new_err(()))
}

/// Close the iterator of a source, if it is a generator: nobody reads it any more. What it raises is dropped; left to
/// itself, Python would print it with its words.
pub(crate) fn close(iterator: &Py<PyIterator>) {
    Python::try_attach(|py| {
        let iterator = iterator.bind(py);
        // An iterator of another class, such as a file, is not ours to close.
        let is_generator = iterator.get_type().fully_qualified_name().is_ok_and(|name| name == "generator");
        is_generator.then(|| iterator.call_method0(intern!(py, "close")).is_ok())
    });
}

/// The name of the class of an exception, if it is a plain name.
fn class_name(py: Python<'_>, error: &PyErr) -> String {
    // Otherwise: no name, which is said below.
    let name = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    let is_plain = name.len() <= LONGEST_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain && !name.is_empty() { name } else { "an exception".into() }
}
