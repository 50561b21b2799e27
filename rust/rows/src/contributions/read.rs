//! From a source to contributions.

use arrow_array::{RecordBatch, RecordBatchIterator};
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;

use super::order::RowOrder;
use super::{Contributions, ContributionsBuilder, ItemOrder};
use crate::ingest::{Columns, OpenSource, Prior, Source};
use crate::runtime::Control;

/// Read everything, intern users and items, and group by user. Without an order, each user's items stand in any order.
///
/// Rows of a null item are dropped. With several item columns, rows with a null in any of them are dropped. Progress is
/// counted in bytes for files (with a total) and in rows for streams (without a total).
///
/// # Errors
/// See [`dpsel_exact::Error`]: missing columns, unsupported types, null users, unreadable files.
pub fn read(
    source: Source,
    columns: &Columns,
    order: Option<ItemOrder<&Prior>>,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Contributions> {
    let source = OpenSource::open(source, columns, control)?;
    let order = row_order(order, columns, &source, key)?;
    read_in_order(source, &order, key, control)
}

/// Read everything, with each user's rows in an order.
///
/// # Errors
/// As [`read`].
pub fn read_in_order(
    source: OpenSource,
    order: &RowOrder,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Contributions> {
    let schema = source.layout().item_schema()?;
    let builder = ContributionsBuilder::for_rows(source.known_rows(), key, control);
    source.deliver(key, control, || builder.worker())?;
    let mut contributions = builder.finish(schema, order)?;
    contributions.find_nodes(key, control)?;
    Ok(contributions)
}

/// Read batches, all of one schema, with each user's rows in an order; `None` if there are none.
///
/// # Errors
/// As [`read`].
pub fn read_batches(
    batches: Vec<RecordBatch>,
    columns: &Columns,
    order: &RowOrder,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Option<Contributions>> {
    let Some(first) = batches.first() else { return Ok(None) };
    let schema = first.schema();
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    let source = OpenSource::open(Source::Stream(Box::new(reader)), columns, control)?;
    read_in_order(source, order, key, control).map(Some)
}

/// The order of the items of a user, with the ranks of its table.
///
/// # Errors
/// [`dpsel_exact::Error::Schema`] if items of the table cannot be items of the data.
pub fn row_order(
    order: Option<ItemOrder<&Prior>>,
    columns: &Columns,
    source: &OpenSource,
    key: &ReleaseKey,
) -> Result<RowOrder> {
    Ok(match order {
        None => RowOrder::Any,
        Some(ItemOrder::Counts) => RowOrder::Items(ItemOrder::Counts),
        Some(ItemOrder::Prior(table)) => {
            RowOrder::Items(ItemOrder::Prior(table.ranks(columns, source.layout(), key)?))
        }
    })
}
