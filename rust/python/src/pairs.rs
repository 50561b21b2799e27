//! Iterables of `(user, item)` and `(user, [items])` become Arrow batches, chunk by chunk.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use dpsel_exact::Error;
use dpsel_rows::ingest::{Columns, Levels};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFrozenSet, PyIterator, PyList, PySet, PyString, PyTuple};

use crate::error::{internal, to_python};
use crate::foreign::{close, replaced};
use crate::named_row::NamedRow;
use crate::pair_columns::Column;
use crate::producer::Producer;

/// Rows per batch: large enough that a batch costs nothing, small enough to stay in cache.
const CHUNK_ROWS: usize = 1 << 16;

/// The producer for pairs.
pub(crate) struct Pairs {
    rows_in: Py<PyIterator>,
    /// The rest of a group that did not fit into the last batch, with its user.
    group: Option<(Py<PyAny>, Py<PyIterator>)>,
    users: Vec<Column>,
    items: Vec<Column>,
    /// Whether the parts of an item are levels of a tree, where missing ones end a path.
    is_tree: bool,
    /// Whether the first chunk is read, which fixes the type of each column.
    has_types: bool,
    position: u64,
    rows: usize,
    first: Option<RecordBatch>,
    schema: SchemaRef,
}

impl Pairs {
    /// Rows of the data.
    pub(crate) fn new(pairs: &Bound<'_, PyAny>, columns: &Columns) -> PyResult<Self> {
        Self::read(pairs, columns, Column::new)
    }

    /// A public list, which is given in this argument.
    pub(crate) fn of_argument(
        pairs: &Bound<'_, PyAny>,
        columns: &Columns,
        argument: &'static str,
    ) -> PyResult<Self> {
        Self::read(pairs, columns, |name| Column::of_argument(name, argument))
    }

    /// Read the first chunk, which fixes the type of each column.
    fn read(pairs: &Bound<'_, PyAny>, columns: &Columns, column: impl Fn(&str) -> Column) -> PyResult<Self> {
        let named = |names: &[String]| names.iter().map(|name| column(name)).collect();
        let rows_in = pairs.try_iter().map_err(|error| replaced(pairs.py(), &error, "when it was opened"))?;
        let mut made = Self {
            rows_in: rows_in.unbind(),
            group: None,
            users: named(columns.user.names()),
            items: named(&columns.items),
            is_tree: columns.levels == Some(Levels::Columns),
            has_types: false,
            position: 0,
            rows: 0,
            first: None,
            schema: Arc::new(Schema::empty()),
        };
        made.fill(pairs.py())?;
        made.has_types = true;
        let first = made.take_batch()?;
        made.schema = first.schema();
        made.first = Some(first);
        Ok(made)
    }

    /// Read until the chunk is full; false at the end of the iterable. Exceptions of the iterable and of its values are
    /// replaced.
    fn fill(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.pull(py).map_err(|error| replaced(py, &error, &format!("at position {}", self.position)))
    }

    fn pull(&mut self, py: Python<'_>) -> PyResult<bool> {
        while self.rows < CHUNK_ROWS || self.lacks_a_type() {
            if let Some((user, items)) = self.group.take() {
                self.push_group(user.bind(py), items.bind(py))?;
                continue;
            }
            let Some(pair) = self.rows_in.bind(py).clone().next() else { return Ok(false) };
            let (user, value) = self.split(&pair?)?;
            match self.as_group(&value)? {
                Some(items) => self.push_group(&user, &items)?,
                None => self.push_row(&user, &value)?,
            }
            self.position += u64::from(self.group.is_none());
        }
        Ok(true)
    }

    /// Whether no row so far had a level of the tree. The first chunk goes on until one does, or to the end.
    fn lacks_a_type(&self) -> bool {
        self.is_tree && !self.has_types && !self.items.iter().all(Column::has_type)
    }

    fn push_group(&mut self, user: &Bound<'_, PyAny>, items: &Bound<'_, PyIterator>) -> PyResult<()> {
        for item in items.clone() {
            self.push_row(user, &item?)?;
            if self.rows >= CHUNK_ROWS {
                self.group = Some((user.clone().unbind(), items.clone().unbind()));
                break;
            }
        }
        Ok(())
    }

    /// Append one row. A missing item is dropped, as null items are in every source.
    fn push_row(&mut self, user: &Bound<'_, PyAny>, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let position = self.position;
        if let ([users], [items]) = (self.users.as_mut_slice(), self.items.as_mut_slice()) {
            // Most pairs have one value on each side, which needs no list of parts.
            if users.is_missing(user)? {
                return Err(no_user(user, position));
            }
            if !items.is_missing(item)? {
                items.push(item, position)?;
                users.push(user, position)?;
                self.rows += 1;
            }
            return Ok(());
        }
        let users = parts("user", user, self.users.len(), position)?;
        if let Some(missing) = first_missing(&mut self.users, &users)? {
            return Err(no_user(missing, position));
        }
        let items = parts("item", item, self.items.len(), position)?;
        if !self.is_tree && first_missing(&mut self.items, &items)?.is_some() {
            return Ok(());
        }
        for (column, part) in self.items.iter_mut().zip(&items).chain(self.users.iter_mut().zip(&users)) {
            if column.is_missing(part)? {
                column.push_null();
            } else {
                column.push(part, position)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// The items, if the second part of a pair is a collection of them.
    fn as_group<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyIterator>>> {
        let group = value.is_instance_of::<PyList>()
            || value.is_instance_of::<PySet>()
            || value.is_instance_of::<PyFrozenSet>();
        if !group && value.is_instance_of::<PyTuple>() && self.items.len() == 1 {
            return Err(shape(
                format!("the item at position {} is a tuple, but one item column is named", self.position),
                "give several items of a user as a list, or name the parts: item=[\"a\", \"b\"]",
            ));
        }
        group.then(|| value.try_iter()).transpose()
    }

    fn split<'py>(&self, pair: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        if let Ok(tuple) = pair.cast_exact::<PyTuple>()
            && tuple.len() == 2
        {
            return Ok((tuple.get_item(0)?, tuple.get_item(1)?));
        }
        // Before positions: a row may have its fields in any order, and a user must not be taken for an item.
        if let Some(row) = NamedRow::of(pair)? {
            return Ok((self.named(&row, &self.users)?, self.named(&row, &self.items)?));
        }
        let scalar = pair.is_instance_of::<PyString>()
            || pair.is_instance_of::<PyBytes>()
            || pair.is_instance_of::<PyByteArray>();
        // By position: sets have no first element, and tables and mappings give the names of columns in turn.
        if !scalar
            && pair.len().is_ok_and(|parts| parts == 2)
            && let (Ok(user), Ok(item)) = (pair.get_item(0), pair.get_item(1))
        {
            return Ok((user, item));
        }
        let fix = if pair.is_instance_of::<PyDict>() {
            "pass the rows as a list, and name two of their fields with user= and item="
        } else {
            "yield (user, item) or (user, [items]); for a table pass the table itself"
        };
        Err(shape(format!("the element at position {} is not a pair", self.position), fix))
    }

    /// The value of a row in the columns of a user or an item: a tuple if there are several.
    fn named<'py>(&self, row: &NamedRow<'py>, columns: &[Column]) -> PyResult<Bound<'py, PyAny>> {
        let value = |column: &Column| {
            row.value(column.name())?.ok_or_else(|| {
                shape(
                    format!("the row at position {} has names of fields, and none is that of a column", self.position),
                    "set user= and item= to the names of two of its fields, or yield plain tuples (user, item)",
                )
            })
        };
        if let [column] = columns {
            return value(column);
        }
        let values: Vec<_> = columns.iter().map(value).collect::<PyResult<_>>()?;
        Ok(PyTuple::new(row.py(), values)?.into_any())
    }

    fn take_batch(&mut self) -> PyResult<RecordBatch> {
        self.rows = 0;
        let columns = self.users.iter_mut().chain(&mut self.items).map(Column::finish);
        let (fields, arrays): (Vec<_>, Vec<_>) = columns.unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|_| internal("the columns of the pairs differ in length"))
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        close(&self.rows_in);
    }
}

impl Producer for Pairs {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// Python values have kinds, and no declared types.
    fn found(&self) -> Vec<String> {
        self.users.iter().chain(&self.items).map(|column| column.name().to_owned()).collect()
    }

    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        self.fill(py)?;
        if self.rows == 0 { Ok(None) } else { self.take_batch().map(Some) }
    }
}

/// The values of a user or an item in its columns: itself in a single one, and the parts of a tuple in several.
fn parts<'py>(
    role: &str,
    value: &Bound<'py, PyAny>,
    columns: usize,
    position: u64,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if columns == 1 {
        return Ok(vec![value.clone()]);
    }
    match value.cast::<PyTuple>() {
        Ok(tuple) if tuple.len() == columns => Ok(tuple.iter().collect()),
        _ => Err(shape(
            format!("the {role} at position {position} is not a tuple of {columns} parts"),
            &format!("with several {role} columns every {role} is a tuple with one part for each"),
        )),
    }
}

/// The first value that is missing.
fn first_missing<'a, 'py>(
    columns: &mut [Column],
    values: &'a [Bound<'py, PyAny>],
) -> PyResult<Option<&'a Bound<'py, PyAny>>> {
    for (column, value) in columns.iter_mut().zip(values) {
        if column.is_missing(value)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn no_user(user: &Bound<'_, PyAny>, position: u64) -> PyErr {
    let missing = user.get_type().name();
    let missing = missing.as_ref().ok().filter(|_| !user.is_none()).and_then(|name| name.to_str().ok());
    to_python(Error::Data {
        source_name: "the pairs".into(),
        // Otherwise: it is `None`.
        what: format!("the user is {} at position {position}", missing.unwrap_or("None")),
        fix: "every row needs a user, because the guarantee is per user; drop or name them",
    })
}

fn shape(what: String, fix: &str) -> PyErr {
    to_python(Error::Schema { what, fix: fix.into() })
}
