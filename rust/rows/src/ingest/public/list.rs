//! The public list of a top-k.

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{Schema, SchemaRef};
use dpsel_exact::Result;

use super::target::{Target, in_types_of};
use crate::ingest::columns::value_type;
use crate::ingest::layout::{ColumnLayout, ListedType, ListedTypes};
use crate::ingest::names::{Columns, INPUT_NAME};
use crate::ingest::source::Source;

/// The items that a top-k may select: batches with the columns of the data. Their user column is not used.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicList {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// The argument that has the list of a top-k.
pub const DOMAIN: &str = "domain=";

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
        Ok(self.in_types_of(&ColumnLayout::new(schema, columns, INPUT_NAME)?.0, columns, DOMAIN)?.0)
    }

    /// Whether no item is listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batches.iter().all(|batch| batch.num_rows() == 0)
    }

    /// The layout of the data, in which item columns that have no type yet, as those of a table without rows, have that of
    /// the list.
    ///
    /// # Errors
    /// [`Error::Schema`] for a list that has not these columns.
    pub fn complete(&self, data: ColumnLayout, columns: &Columns) -> Result<ColumnLayout> {
        let (list, _) = ColumnLayout::new(&self.schema, &columns.of_list(), DOMAIN)?;
        Ok(data.with_items_of(&list))
    }

    /// The list in the types of the data, as rows to be read, and the types in which its items come back. `name` is the
    /// argument that has the list.
    ///
    /// # Errors
    /// As [`Self::beside`].
    pub fn in_types_of(
        &self,
        data: &ColumnLayout,
        columns: &Columns,
        name: &str,
    ) -> Result<(Source, ListedTypes)> {
        let columns = columns.of_list();
        let empty = RecordBatch::new_empty(SchemaRef::clone(&self.schema));
        let targets = Target::of(&self.batches, data, &columns, name)?;
        let schema = in_types_of(&empty, &targets, &columns, name, 0)?.schema();
        let (_, positions) = ColumnLayout::new(&self.schema, &columns, name)?;
        let listed_type = |(at, undeclared): (&usize, bool)| {
            let data_type = |schema: &Schema| value_type(schema.field(*at).data_type()).clone();
            undeclared.then(|| ListedType { given: data_type(&self.schema), held: data_type(&schema) })
        };
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
