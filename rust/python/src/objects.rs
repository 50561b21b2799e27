//! A column of Python objects, as pandas has them, becomes an Arrow array of one type.

use std::sync::Arc;

use arrow_array::{ArrayRef, LargeListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, FieldRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::to_array_pycapsules;

use crate::error::internal;
use crate::pair_columns::Column;

/// Objects between two looks at signals.
const TICK: u64 = 1 << 16;

/// The array of a column of objects.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ObjectColumn {
    field: FieldRef,
    array: ArrayRef,
}

impl ObjectColumn {
    fn new(field: Field, array: ArrayRef) -> Self {
        Self { field: Arc::new(field), array }
    }
}

#[pymethods]
impl ObjectColumn {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        to_array_pycapsules(py, FieldRef::clone(&self.field), &self.array, requested_schema)
    }
}

/// Read objects of one kind; with `lists`, each may be a collection of them. Missing values become null, of which NaN is
/// one in pandas.
#[pyfunction]
#[pyo3(signature = (values, name, *, lists, of_pandas=true))]
pub(crate) fn object_column(
    values: &Bound<'_, PyAny>,
    name: &str,
    lists: bool,
    of_pandas: bool,
) -> PyResult<ObjectColumn> {
    let mut column = if of_pandas { Column::of_pandas(name) } else { Column::new(name) };
    if lists {
        return read_lists(values, column);
    }
    each(values, |value, position| {
        if column.is_missing(value)? {
            column.push_null();
            return Ok(());
        }
        column.push(value, position)
    })?;
    let (field, array) = column.finish();
    Ok(ObjectColumn::new(field, array))
}

/// A missing list is null, a missing element is dropped, and an object that is no collection is a list of itself.
fn read_lists(values: &Bound<'_, PyAny>, mut column: Column) -> PyResult<ObjectColumn> {
    let (mut lengths, mut valid) = (vec![], vec![]);
    each(values, |value, position| {
        let mut length = 0;
        let mut push = |column: &mut Column, value: &Bound<'_, PyAny>| {
            let missing = column.is_missing(value)?;
            length += usize::from(!missing);
            if missing { Ok(()) } else { column.push(value, position) }
        };
        match column.elements(value)? {
            Some(elements) => elements.into_iter().try_for_each(|element| push(&mut column, &element?))?,
            None => push(&mut column, value)?,
        }
        lengths.push(length);
        valid.push(length > 0);
        Ok(())
    })?;
    let (field, array) = column.finish();
    if lengths.iter().all(|length| *length == 1) {
        return Ok(ObjectColumn::new(field, array));
    }
    let offsets = OffsetBuffer::from_lengths(lengths);
    let lists = LargeListArray::try_new(Arc::new(field), offsets, array, Some(NullBuffer::from(valid)))
        .map_err(|_| internal("lists of objects cannot be built"))?;
    let field = Field::new(column.name(), arrow_array::Array::data_type(&lists).clone(), true);
    Ok(ObjectColumn::new(field, Arc::new(lists)))
}

fn each(
    values: &Bound<'_, PyAny>,
    mut read: impl FnMut(&Bound<'_, PyAny>, u64) -> PyResult<()>,
) -> PyResult<()> {
    for (position, value) in (0_u64..).zip(values.try_iter()?) {
        read(&value?, position)?;
        if position % TICK == TICK - 1 {
            values.py().check_signals()?;
        }
    }
    Ok(())
}
