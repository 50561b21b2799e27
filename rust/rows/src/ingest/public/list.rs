//! The public list of a top-k.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use dpsel_exact::{Error, Result};

use super::target::{Target, in_types_of};
use crate::ingest::items::with_rows;
use crate::ingest::layout::ColumnLayout;
use crate::ingest::names::{Columns, INPUT_NAME};
use crate::ingest::source::Source;

/// The items that a top-k may select: batches with the columns of the data. Their user column is not used.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicList {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// The list's name in errors.
const NAME: &str = "domain=";

impl PublicList {
    /// Batches of one schema.
    #[must_use]
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// The list as rows to be read, in the types of a table with this schema.
    ///
    /// # Errors
    /// [`Error::Schema`] if the items are not of the types of the table's and cannot be cast exactly.
    pub fn beside(&self, schema: &Schema, columns: &Columns) -> Result<Source> {
        Ok(self.in_types_of(&ColumnLayout::new(schema, columns, INPUT_NAME)?.0, columns)?.0)
    }

    /// As [`Self::in_types_of`], for a list in this argument, which gives back the types of the data.
    ///
    /// # Errors
    /// As [`Self::beside`], with the name of the argument.
    pub fn named_in_types_of(&self, data: &ColumnLayout, columns: &Columns, name: &str) -> Result<Source> {
        Ok(self.cast(data, columns, name)?.0)
    }

    /// The layout of the data, in which item columns that have no type yet, as those of a table without rows, have that of
    /// the list.
    ///
    /// # Errors
    /// [`Error::Schema`] for a list that has not these columns.
    pub fn complete(&self, data: ColumnLayout, columns: &Columns) -> Result<ColumnLayout> {
        let (list, _) = ColumnLayout::new(&self.schema, &columns.of_list(), NAME)?;
        Ok(data.with_items_of(&list))
    }

    /// The list in the types of the data, as rows to be read, and the types in which its items come back.
    ///
    /// # Errors
    /// As [`Self::beside`].
    pub fn in_types_of(&self, data: &ColumnLayout, columns: &Columns) -> Result<(Source, ListedTypes)> {
        self.cast(data, columns, NAME)
    }

    fn cast(&self, data: &ColumnLayout, columns: &Columns, name: &str) -> Result<(Source, ListedTypes)> {
        let columns = columns.of_list();
        let empty = RecordBatch::new_empty(SchemaRef::clone(&self.schema));
        let targets = Target::of(&self.batches, data, &columns, name)?;
        let schema = in_types_of(&empty, &targets, &columns, name, 0)?.schema();
        let (_, positions) = ColumnLayout::new(&self.schema, &columns, name)?;
        let listed_type =
            |(at, undeclared): (&usize, bool)| undeclared.then(|| self.schema.field(*at).data_type().clone());
        let listed = positions.items.iter().zip(data.undeclared()).map(listed_type).collect();
        let batches = self.batches_in_types_of(data, &columns, name)?;
        let rows = Box::new(RecordBatchIterator::new(batches.into_iter().map(Ok), schema));
        Ok((Source::Stream(rows), ListedTypes(listed)))
    }

    /// The batches that have rows, in the types of the data. The columns are those of a list.
    pub(super) fn batches_in_types_of(
        &self,
        data: &ColumnLayout,
        columns: &Columns,
        name: &str,
    ) -> Result<Vec<RecordBatch>> {
        let targets = Target::of(&self.batches, data, columns, name)?;
        let mut batches = Vec::with_capacity(self.batches.len());
        let mut rows = 0;
        for batch in self.batches.iter().filter(|batch| batch.num_rows() > 0) {
            batches.push(in_types_of(batch, &targets, columns, name, rows)?);
            rows += batch.num_rows();
        }
        Ok(batches)
    }
}

/// For each item column, the type in which items of a public list come back, if it differs from the type of the data.
#[derive(Debug, Default)]
pub struct ListedTypes(Vec<Option<DataType>>);

impl ListedTypes {
    /// Released items in these types. The cast is exact, because the cast from these types was.
    ///
    /// # Errors
    /// [`Error::Internal`] if an item has no value in its type.
    pub fn restore(&self, items: RecordBatch) -> Result<RecordBatch> {
        const FAILED: Error = Error::Internal("released items cannot be given back as they were listed");
        if self.0.iter().all(Option::is_none) {
            return Ok(items);
        }
        let (schema, mut arrays, rows) = (items.schema(), items.columns().to_vec(), items.num_rows());
        let mut fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
        for ((array, field), listed) in arrays.iter_mut().zip(&mut fields).zip(&self.0) {
            let Some(listed) = listed.as_ref().map(plain) else { continue };
            let options = CastOptions { safe: false, ..CastOptions::default() };
            *array = cast_with_options(array, listed, &options).map_err(|_| FAILED)?;
            *field = field.clone().with_data_type(listed.clone());
        }
        with_rows(Arc::new(Schema::new(fields)), arrays, rows)
    }
}

/// The type of a dictionary's values: a released column holds values, not a dictionary.
fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}
