//! The release: freshly built columns of the released items, and the report of what was enforced.

mod report;
mod sealed;
mod write;

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::{Field, Schema};

pub use report::{KeyStamp, Report};
pub(crate) use report::{checked_commitment, checked_version};
pub(crate) use sealed::{checked_fields, differences_of, sealed};
pub use write::{OutputFormat, check_table_path, write_table, write_table_to, write_text_atomically};

pub use crate::request::WEIGHT_COLUMN;

use crate::ingest::sorted;
use crate::threshold::Selected;
use crate::weighting::UNIT;
use crate::{Error, Result};

/// What leaves the crate: the items and the report, nothing else of the data (law 5).
#[derive(Debug, Clone)]
pub struct Release {
    /// The released items, sorted by their own values; with a `weight` column (f64) last if asked for.
    pub items: RecordBatch,
    /// Parameters and calibrations; no data.
    pub report: Report,
}

impl Release {
    /// Copy the selected keys, and nothing else, into fresh columns, and sort them by their own values.
    pub(crate) fn publish(selected: &Selected, report: Report) -> Result<Self> {
        let vocabulary = selected.vocabulary();
        let keys = selected.items.iter().map(|&(item, _)| vocabulary.key(item));
        let units: Vec<i64> = selected.items.iter().map(|&(_, units)| units).collect();
        Self::sorted(&vocabulary.schema().decode(keys)?, &units, report)
    }

    /// The release of freshly built columns, with the noisy weight of each row in integer units.
    pub(crate) fn sorted(items: &RecordBatch, units: &[i64], report: Report) -> Result<Self> {
        let (items, order) = sorted(items)?;
        let items = if report.request.with_weights {
            let weights = order.iter().map(|&i| units[i as usize] as f64 / UNIT as f64);
            with_column(&items, WEIGHT_COLUMN, Arc::new(Float64Array::from_iter_values(weights)))?
        } else {
            items
        };
        Ok(Self { items, report })
    }
}

/// The batch with one more column.
pub(crate) fn with_column(batch: &RecordBatch, name: &str, column: ArrayRef) -> Result<RecordBatch> {
    let field = Field::new(name, column.data_type().clone(), false);
    let fields =
        batch.schema().fields().iter().map(|f| f.as_ref().clone()).chain([field]).collect::<Vec<_>>();
    let columns = batch.columns().iter().cloned().chain([column]).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|_| Error::Internal("the released columns do not fit together"))
}
