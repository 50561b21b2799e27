//! The types that the items of a public table are cast to.

use std::sync::Arc;

use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::KeyKind;
use dpsel_exact::{Error, Result};

use super::cast::{Failure, exactly};
use super::kind_names::{fix, kind_name, type_name};
use crate::ingest::columns::key_kind;
use crate::ingest::layout::ColumnLayout;
use crate::ingest::names::Columns;

/// The type that the items of one column of a public table are cast to.
pub(super) struct Target {
    item: String,
    data_type: DataType,
    /// Whether the data declares no type for the column.
    undeclared: bool,
}

impl Target {
    /// The types of the data, for each item column.
    ///
    /// An undeclared integer width may come from an unreleased row, so items need not fit it. The list alone then
    /// chooses a type of 64 bits.
    pub(super) fn of(
        batches: &[RecordBatch],
        data: &ColumnLayout,
        columns: &Columns,
        name: &str,
    ) -> Result<Vec<Self>> {
        let mut targets: Vec<Self> = data
            .items()
            .zip(data.undeclared())
            .map(|((item, data_type), undeclared)| {
                // N-grams are texts, also of a column without a type.
                let is_text = data.ngrams().is_some() && *data_type == DataType::Null;
                let data_type = if is_text { DataType::LargeUtf8 } else { data_type.clone() };
                Self { item: item.into(), data_type, undeclared }
            })
            .collect();
        for (place, target) in targets.iter_mut().enumerate() {
            if !target.undeclared || key_kind(&target.data_type) != Some(KeyKind::Integer) {
                continue;
            }
            let mut listed = Vec::with_capacity(batches.len());
            for batch in batches {
                let (_, positions) = ColumnLayout::new(&batch.schema(), columns, name)?;
                listed.extend(positions.items.get(place).map(|&at| batch.column(at)));
            }
            let fits = |to: &DataType| listed.iter().all(|column| exactly(column, to).is_ok());
            let is_large = !fits(&DataType::Int64) && fits(&DataType::UInt64);
            target.data_type = if is_large { DataType::UInt64 } else { DataType::Int64 };
        }
        Ok(targets)
    }

    /// The values of the data, in the words of errors.
    fn type_name(&self) -> String {
        if self.undeclared { kind_name(&self.data_type).into() } else { type_name(&self.data_type) }
    }
}

/// A batch of a public table with its items in the types of the data; `first` is the number of rows before it.
///
/// # Errors
/// [`Error::Schema`] naming column, types and position.
pub(super) fn in_types_of(
    batch: &RecordBatch,
    targets: &[Target],
    columns: &Columns,
    name: &str,
    first: usize,
) -> Result<RecordBatch> {
    let (_, positions) = ColumnLayout::new(&batch.schema(), columns, name)?;
    let mut arrays = batch.columns().to_vec();
    for (at, target) in positions.items.iter().zip(targets) {
        let Target { item, data_type, undeclared } = target;
        let refused =
            |what: String| Error::Schema { what: format!("{name} {what}"), fix: fix(name, data_type) };
        if *undeclared && key_kind(arrays[*at].data_type()) == key_kind(data_type) {
            continue;
        }
        // No node of the list has this level.
        if columns.levels.is_some() && arrays[*at].data_type() == &DataType::Null {
            arrays[*at] = new_null_array(data_type, batch.num_rows());
            continue;
        }
        arrays[*at] = exactly(&arrays[*at], data_type).map_err(|failure| match failure {
            Failure::Type => refused(format!(
                "has {} for column '{item}', but the data has {} there, so none of them could be found",
                type_name(batch.column(*at).data_type()),
                target.type_name(),
            )),
            Failure::Item(row) => refused(format!(
                "has an item at position {} that column '{item}' of the data, which has {}, cannot hold",
                first + row,
                target.type_name(),
            )),
        })?;
    }
    let fields = batch
        .schema()
        .fields()
        .iter()
        .zip(&arrays)
        .map(|(field, array)| Field::new(field.name(), array.data_type().clone(), field.is_nullable()))
        .collect::<Vec<_>>();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|_| Error::Internal("the columns of a public table do not fit together"))
}
