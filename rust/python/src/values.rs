//! Arrow columns of released items as Python values, without any Arrow library in Python.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, NaiveDate, Utc};
use dpsel_exact::Error;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::error::to_python;

/// The values of `column`, in order.
pub(crate) fn to_values<'py>(py: Python<'py>, name: &str, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match column.data_type() {
        // A column that is declared to have no values: none of them is released.
        DataType::Null => PyList::new(py, vec![None::<bool>; column.len()]),
        DataType::Boolean => PyList::new(py, column.as_boolean().iter().collect::<Vec<_>>()),
        DataType::Int8 => numbers::<Int8Type>(py, column),
        DataType::Int16 => numbers::<Int16Type>(py, column),
        DataType::Int32 => numbers::<Int32Type>(py, column),
        DataType::Int64 => numbers::<Int64Type>(py, column),
        DataType::UInt8 => numbers::<UInt8Type>(py, column),
        DataType::UInt16 => numbers::<UInt16Type>(py, column),
        DataType::UInt32 => numbers::<UInt32Type>(py, column),
        DataType::UInt64 => numbers::<UInt64Type>(py, column),
        // Only those without a fraction are items.
        DataType::Decimal128(_, 0) => numbers::<Decimal128Type>(py, column),
        DataType::Float64 => numbers::<Float64Type>(py, column),
        DataType::Utf8 => PyList::new(py, column.as_string::<i32>().iter().collect::<Vec<_>>()),
        DataType::LargeUtf8 => PyList::new(py, column.as_string::<i64>().iter().collect::<Vec<_>>()),
        DataType::Utf8View => PyList::new(py, column.as_string_view().iter().collect::<Vec<_>>()),
        DataType::Binary => bytes(py, column.as_binary::<i32>().iter()),
        DataType::LargeBinary => bytes(py, column.as_binary::<i64>().iter()),
        DataType::BinaryView => bytes(py, column.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => bytes(py, column.as_fixed_size_binary().iter()),
        DataType::Date32 | DataType::Date64 => dates(py, name, column),
        DataType::Timestamp(unit, zone) => instants(py, name, column, *unit, zone.is_some()),
        _ => Err(no_python_value(name)),
    }
}

fn numbers<'py, T>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>>
where
    T: ArrowPrimitiveType,
    T::Native: IntoPyObject<'py>,
{
    PyList::new(py, column.as_primitive::<T>().iter().collect::<Vec<_>>())
}

fn bytes<'py, 'a>(
    py: Python<'py>,
    values: impl Iterator<Item = Option<&'a [u8]>>,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, values.map(|value| value.map(|value| PyBytes::new(py, value))).collect::<Vec<_>>())
}

fn dates<'py>(py: Python<'py>, name: &str, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in 0..column.len() {
        let date = if column.is_null(row) {
            None
        } else if matches!(column.data_type(), DataType::Date32) {
            Some(
                column
                    .as_primitive::<Date32Type>()
                    .value_as_date(row)
                    .ok_or_else(|| no_python_value(name))?,
            )
        } else {
            Some(
                column
                    .as_primitive::<Date64Type>()
                    .value_as_date(row)
                    .ok_or_else(|| no_python_value(name))?,
            )
        };
        list.append(date as Option<NaiveDate>).map_err(|_| no_python_value(name))?;
    }
    Ok(list)
}

fn instants<'py>(
    py: Python<'py>,
    name: &str,
    column: &ArrayRef,
    unit: TimeUnit,
    zoned: bool,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in 0..column.len() {
        if column.is_null(row) {
            list.append(py.None())?;
            continue;
        }
        let instant = instant(column, unit, row).ok_or_else(|| no_python_value(name))?;
        let appended = if zoned { list.append(instant) } else { list.append(instant.naive_utc()) };
        appended.map_err(|_| no_python_value(name))?;
    }
    Ok(list)
}

/// The instant in `row`, or `None` if Python's microseconds cannot hold it exactly.
fn instant(column: &ArrayRef, unit: TimeUnit, row: usize) -> Option<DateTime<Utc>> {
    match unit {
        TimeUnit::Second => {
            DateTime::from_timestamp(column.as_primitive::<TimestampSecondType>().value(row), 0)
        }
        TimeUnit::Millisecond => {
            DateTime::from_timestamp_millis(column.as_primitive::<TimestampMillisecondType>().value(row))
        }
        TimeUnit::Microsecond => {
            DateTime::from_timestamp_micros(column.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        TimeUnit::Nanosecond => {
            let nanoseconds = column.as_primitive::<TimestampNanosecondType>().value(row);
            let whole = nanoseconds % 1000 == 0;
            whole.then(|| DateTime::from_timestamp_micros(nanoseconds / 1000)).flatten()
        }
    }
}

fn no_python_value(name: &str) -> PyErr {
    to_python(Error::Schema {
        what: format!("column '{name}' holds released values that Python's own types cannot hold exactly"),
        fix: "use to_arrow(), to_polars() or to_pandas()".into(),
    })
}
