//! Which Python types are keys, and how one value of each is read: exactly, or not at all.
//!
//! The type of a value decides how it is read, so each type is examined once. Libraries are recognised by the names of
//! their classes and need not be imported.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyType,
};

use crate::dates_and_times;
use crate::scalar::{Kind, Refusal, Scalar};

/// How values of one Python type are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// `None`, `pandas.NA`, `pandas.NaT`: there is no value.
    Missing,
    Bool,
    Int,
    Text,
    Bytes,
    Date,
    Datetime,
    /// A datetime that counts nanoseconds: `pandas.Timestamp`.
    Stamp,
    /// `numpy.datetime64`, a number of some unit.
    Count,
    /// Refused, but a missing value where pandas says so.
    Float,
    /// A list or a set: refused, but a collection of keys where there may be one.
    Collection,
    /// A `numpy.ndarray`: the same, if it has one dimension.
    Array,
    /// Refused.
    Other,
}

/// Types that are remembered at most; a column of keys has one or a few.
const REMEMBERED: usize = 8;

/// The readers of the types that were seen so far.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    known: Vec<(Py<PyType>, Reader)>,
}

impl Readers {
    /// How to read this value.
    pub(crate) fn of(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Reader> {
        let class = value.get_type();
        if let Some((_, reader)) = self.known.iter().find(|(known, _)| class.is(known)) {
            return Ok(*reader);
        }
        let reader = reader_of(value, &class)?;
        if self.known.len() == REMEMBERED {
            self.known.clear();
        }
        self.known.push((class.unbind(), reader));
        Ok(reader)
    }
}

fn reader_of(value: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> PyResult<Reader> {
    if value.is_none() || is_of(class, "pandas", &["NAType", "NaTType"])? {
        return Ok(Reader::Missing);
    }
    // A bool is an int to Python, a datetime a date, and a numpy.timedelta64 a numpy.integer: the narrower type is
    // asked for first. Enumerations of integers or texts are their values, also to Python's ==; others are no keys.
    let own = [
        (value.is_instance_of::<PyString>(), Reader::Text),
        (value.is_instance_of::<PyBool>(), Reader::Bool),
        (value.is_instance_of::<PyInt>(), Reader::Int),
        (value.is_instance_of::<PyBytes>(), Reader::Bytes),
        (value.is_instance_of::<PyFloat>(), Reader::Float),
        (value.is_instance_of::<PyDateTime>() && class.hasattr("nanosecond")?, Reader::Stamp),
        (value.is_instance_of::<PyDateTime>(), Reader::Datetime),
        (value.is_instance_of::<PyDate>(), Reader::Date),
        (value.is_instance_of::<PyList>(), Reader::Collection),
        (value.is_instance_of::<PySet>(), Reader::Collection),
        (value.is_instance_of::<PyFrozenSet>(), Reader::Collection),
    ];
    if let Some((_, reader)) = own.into_iter().find(|(is, _)| *is) {
        return Ok(reader);
    }
    for (names, reader) in [
        (["timedelta64", "timedelta64"], Reader::Other),
        (["datetime64", "datetime64"], Reader::Count),
        (["bool", "bool_"], Reader::Bool),
        (["integer", "integer"], Reader::Int),
        (["floating", "floating"], Reader::Float),
        (["ndarray", "ndarray"], Reader::Array),
    ] {
        if is_of(class, "numpy", &names)? {
            return Ok(reader);
        }
    }
    Ok(Reader::Other)
}

/// Whether a type or one of its parents is a class of `library` with one of these names.
fn is_of(class: &Bound<'_, PyType>, library: &str, names: &[&str]) -> PyResult<bool> {
    for parent in class.mro() {
        let parent = parent.cast_into::<PyType>()?;
        let module = parent.module()?;
        let from = module.to_str()?.split('.').next();
        if from == Some(library) && names.contains(&parent.name()?.to_str()?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Read one value; the exceptions of conversions are dropped because they quote it.
pub(crate) fn read<'a>(reader: Reader, value: &'a Bound<'_, PyAny>) -> Result<Scalar<'a>, Refusal> {
    match reader {
        Reader::Bool => value.is_truthy().map(Scalar::Bool).map_err(|_| Refusal::Range(Kind::Bool)),
        Reader::Int => value.extract().map(Scalar::Int).map_err(|_| Refusal::Range(Kind::Int)),
        Reader::Text => {
            let text = value.cast::<PyString>().map_err(|_| Refusal::Text)?;
            text.to_str().map(Scalar::Text).map_err(|_| Refusal::Text)
        }
        Reader::Bytes => value.extract().map(Scalar::Bytes).map_err(|_| Refusal::Range(Kind::Bytes)),
        Reader::Date => dates_and_times::date(value),
        Reader::Datetime => dates_and_times::datetime(value),
        Reader::Stamp => dates_and_times::stamp(value),
        Reader::Count => dates_and_times::count(value),
        Reader::Float => Err(Refusal::Float),
        Reader::Missing | Reader::Collection | Reader::Array | Reader::Other => Err(Refusal::Type),
    }
}
