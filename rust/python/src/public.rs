//! Public tables that come with a request: the list of a top-k, and the preferences of a greedy selection.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use dpsel_rows::ingest::{Columns, Prior, PublicList};
use pyo3::prelude::*;

use crate::pairs::Pairs;
use crate::producer::Producer;

/// The public list of a top-k, from `(0, item)`.
pub(crate) fn read_list(pairs: &Bound<'_, PyAny>, columns: &Columns) -> PyResult<PublicList> {
    read_list_of(pairs, columns, "domain=")
}

/// The public list of a selection in this argument, from `(0, item)`.
pub(crate) fn read_list_of(
    pairs: &Bound<'_, PyAny>,
    columns: &Columns,
    argument: &'static str,
) -> PyResult<PublicList> {
    let (schema, batches) = read(pairs, columns, argument)?;
    Ok(PublicList::new(schema, batches))
}

/// The public preferences of a selection, from `(rank, item)` in ascending order of rank.
pub(crate) fn read_prior(pairs: &Bound<'_, PyAny>, columns: &Columns) -> PyResult<Prior> {
    Ok(Prior::new(read(pairs, columns, "prior=")?.1))
}

/// All batches of the pairs that `argument` gives.
fn read(
    pairs: &Bound<'_, PyAny>,
    columns: &Columns,
    argument: &'static str,
) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let mut producer = Pairs::of_argument(pairs, &columns.of_list(), argument)?;
    let schema = producer.schema();
    let mut batches = Vec::new();
    while let Some(batch) = producer.next_batch(pairs.py())? {
        batches.push(batch);
    }
    Ok((schema, batches))
}
