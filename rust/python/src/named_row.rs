//! Rows whose fields have names: named tuples, data classes, rows of databases, records of arrays.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

/// A row with the names of its fields.
pub(crate) struct NamedRow<'py> {
    row: Bound<'py, PyAny>,
    names: Vec<String>,
    by: By,
}

/// How the value of a field is found.
#[derive(Clone, Copy)]
enum By {
    Position,
    Attribute,
    Key,
}

/// Attributes that hold the names of the fields, of named tuples and `SQLAlchemy`, of Spark, and of data classes.
const ATTRIBUTES: [(&str, By); 3] =
    [("_fields", By::Position), ("__fields__", By::Position), ("__dataclass_fields__", By::Attribute)];

impl<'py> NamedRow<'py> {
    /// The row, if its fields have names. Lists and dicts are read elsewhere.
    ///
    /// # Errors
    /// Exceptions of the row.
    pub(crate) fn of(row: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let is_other = row.is_exact_instance_of::<PyList>()
            || row.is_instance_of::<PyDict>()
            || row.is_instance_of::<PyString>()
            || row.is_instance_of::<PyBytes>();
        if is_other {
            return Ok(None);
        }
        for (attribute, by) in ATTRIBUTES {
            if let Some(names) = row.getattr_opt(attribute)?.and_then(|names| texts(&names)) {
                return Ok(Some(Self { row: row.clone(), names, by }));
            }
        }
        let names = match (row.getattr_opt("dtype")?, row.getattr_opt("keys")?) {
            (Some(dtype), _) if dtype.hasattr("names")? && texts(&dtype.getattr("names")?).is_some() => {
                texts(&dtype.getattr("names")?)
            }
            (_, Some(keys)) => texts(&keys.call0()?),
            (_, None) => None,
        };
        Ok(names.map(|names| Self { row: row.clone(), names, by: By::Key }))
    }

    pub(crate) fn py(&self) -> Python<'py> {
        self.row.py()
    }

    /// The value of the only field of this name.
    ///
    /// # Errors
    /// Exceptions of the row.
    pub(crate) fn value(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut places = self.names.iter().enumerate().filter(|(_, other)| *other == name);
        let (Some((at, _)), None) = (places.next(), places.next()) else { return Ok(None) };
        match self.by {
            By::Position => self.row.get_item(at),
            By::Attribute => self.row.getattr(name),
            By::Key => self.row.get_item(name),
        }
        .map(Some)
    }
}

/// Texts, at least one, that are all there is.
fn texts(names: &Bound<'_, PyAny>) -> Option<Vec<String>> {
    let names: Vec<String> =
        names.try_iter().ok()?.map(|name| name?.extract()).collect::<PyResult<_>>().ok()?;
    (!names.is_empty()).then_some(names)
}
