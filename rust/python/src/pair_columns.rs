//! One column of Python values on its way to Arrow: its type is fixed by its first value.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Int64Builder, LargeBinaryBuilder, LargeStringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::Field;
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};
use dpsel_core::Error;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDate, PyDateTime, PyFloat, PyInt, PyString};

use crate::error::to_python;

/// Days from 0001-01-01, which is day 1 of chrono's count, to 1970-01-01.
const EPOCH_DAY: i32 = 719_163;

/// The types that pairs may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Text,
    Bytes,
    Date,
    /// A datetime without a time zone.
    Datetime,
    /// A datetime with one; kept as UTC.
    Instant,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Text => "str",
            Self::Bytes => "bytes",
            Self::Date => "date",
            Self::Datetime => "datetime without a time zone",
            Self::Instant => "datetime with a time zone",
        }
    }
}

enum Builder {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Text(LargeStringBuilder),
    Bytes(LargeBinaryBuilder),
    Date(Date32Builder),
    Datetime(TimestampMicrosecondBuilder),
}

/// A named column under construction.
pub(crate) struct Column {
    name: String,
    typed: Option<(Kind, Builder)>,
}

impl Column {
    /// A column whose type is not yet known.
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into(), typed: None }
    }

    /// Append a value that is not `None`.
    pub(crate) fn push(&mut self, value: &Bound<'_, PyAny>, position: u64) -> PyResult<()> {
        let native = native_scalar(value)?;
        // Otherwise: it is a Python value already.
        let value = native.as_ref().unwrap_or(value);
        let kind = self.kind_of(value, position)?;
        let (expected, builder) = self.typed.get_or_insert_with(|| (kind, new_builder(kind)));
        let appended =
            if *expected == kind { append(builder, value) } else { Err(Refusal::Mixed(*expected)) };
        appended.map_err(|refusal| self.refuse(kind, refusal, position))
    }

    /// The field and the array of what was appended since the last call.
    pub(crate) fn finish(&mut self) -> (Field, ArrayRef) {
        let array: ArrayRef = match &mut self.typed {
            None => Arc::new(LargeStringBuilder::new().finish()),
            Some((_, Builder::Bool(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Int(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Text(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Bytes(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Date(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Datetime(builder))) => Arc::new(builder.finish()),
        };
        (Field::new(&self.name, array.data_type().clone(), false), array)
    }

    fn kind_of(&self, value: &Bound<'_, PyAny>, position: u64) -> PyResult<Kind> {
        // A bool is an int to Python, and a datetime a date: the narrower type is asked for first.
        if value.is_instance_of::<PyString>() {
            Ok(Kind::Text)
        } else if value.is_instance_of::<PyBool>() {
            Ok(Kind::Bool)
        } else if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
            Ok(Kind::Int)
        } else if value.is_instance_of::<PyBytes>() {
            Ok(Kind::Bytes)
        } else if value.is_instance_of::<PyDateTime>() {
            Ok(if value.getattr("tzinfo")?.is_none() { Kind::Datetime } else { Kind::Instant })
        } else if value.is_instance_of::<PyDate>() {
            Ok(Kind::Date)
        } else {
            Err(self.refuse_type(value, position))
        }
    }

    fn refuse_type(&self, value: &Bound<'_, PyAny>, position: u64) -> PyErr {
        let kind = value.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
        let fix = if value.is_instance_of::<PyFloat>() {
            "equal-looking floats can differ in a bit; round to int or format as str first"
        } else {
            "use int, str, bytes, bool, date or datetime"
        };
        let what = format!("column '{}' holds a {kind} at position {position}", self.name);
        to_python(Error::Schema { what, fix: fix.into() })
    }

    fn refuse(&self, kind: Kind, refusal: Refusal, position: u64) -> PyErr {
        let (name, kind) = (&self.name, kind.name());
        let (what, fix) = match refusal {
            Refusal::Mixed(expected) => (
                format!(
                    "column '{name}' holds a {kind} at position {position}, but a {} before",
                    expected.name()
                ),
                "give every value of a column the same type",
            ),
            Refusal::Range => (
                format!("column '{name}' holds a {kind} outside the supported range at position {position}"),
                "integers must fit 64 bits with sign; give larger ones as str",
            ),
            Refusal::Text => (
                format!("column '{name}' holds text that is not valid Unicode at position {position}"),
                "replace lone surrogates, or give the bytes",
            ),
        };
        to_python(Error::Schema { what, fix: fix.into() })
    }
}

/// Why a value could not be appended. It never holds the value (law 5).
#[derive(Debug, Clone, Copy)]
enum Refusal {
    Mixed(Kind),
    Range,
    Text,
}

fn new_builder(kind: Kind) -> Builder {
    match kind {
        Kind::Bool => Builder::Bool(BooleanBuilder::new()),
        Kind::Int => Builder::Int(Int64Builder::new()),
        Kind::Text => Builder::Text(LargeStringBuilder::new()),
        Kind::Bytes => Builder::Bytes(LargeBinaryBuilder::new()),
        Kind::Date => Builder::Date(Date32Builder::new()),
        Kind::Datetime => Builder::Datetime(TimestampMicrosecondBuilder::new()),
        Kind::Instant => Builder::Datetime(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
    }
}

/// Append; the exceptions of the conversions are dropped because they quote the value.
fn append(builder: &mut Builder, value: &Bound<'_, PyAny>) -> Result<(), Refusal> {
    match builder {
        Builder::Bool(builder) => builder.append_value(value.extract().map_err(|_| Refusal::Range)?),
        Builder::Int(builder) => builder.append_value(value.extract().map_err(|_| Refusal::Range)?),
        Builder::Text(builder) => {
            let text = value.cast::<PyString>().map_err(|_| Refusal::Text)?;
            builder.append_value(text.to_str().map_err(|_| Refusal::Text)?);
        }
        Builder::Bytes(builder) => {
            builder.append_value(value.extract::<&[u8]>().map_err(|_| Refusal::Range)?);
        }
        Builder::Date(builder) => {
            let date: NaiveDate = value.extract().map_err(|_| Refusal::Range)?;
            builder.append_value(date.num_days_from_ce() - EPOCH_DAY);
        }
        Builder::Datetime(builder) => builder.append_value(microseconds(value)?),
    }
    Ok(())
}

fn microseconds(value: &Bound<'_, PyAny>) -> Result<i64, Refusal> {
    let instant: Result<DateTime<Utc>, _> = if value.getattr("tzinfo").is_ok_and(|zone| zone.is_none()) {
        value.extract::<NaiveDateTime>().map(|naive| naive.and_utc())
    } else {
        let utc = value.py().import("datetime").and_then(|module| module.getattr("timezone"));
        let utc = utc.and_then(|zone| zone.getattr("utc")).map_err(|_| Refusal::Range)?;
        value.call_method1("astimezone", (utc,)).and_then(|moved| moved.extract())
    };
    instant.map(|instant| instant.timestamp_micros()).map_err(|_| Refusal::Range)
}

/// The Python value of a `NumPy` scalar of a supported type; nothing else has both `dtype` and `item`.
fn native_scalar<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let known = value.is_instance_of::<PyString>() || value.is_exact_instance_of::<PyInt>();
    if known || !value.hasattr("dtype")? {
        return Ok(None);
    }
    let kind: String = value.getattr("dtype")?.getattr("kind")?.extract()?;
    if "biuUS".contains(&kind) { value.call_method0("item").map(Some) } else { Ok(None) }
}
