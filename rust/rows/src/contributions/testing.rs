//! Small tables for unit tests.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::DataType;
use dpsel_exact::random::{Purpose, ReleaseKey};

use super::order::RanksByDigest;
use super::{Contributions, ContributionsBuilder, ItemOrder, KeyStore, Payload, RowOrder, read};
use crate::ingest::testing::digests;
use crate::ingest::{Columns, ItemSchema, Levels, Source};
use crate::runtime::Control;

#[cfg(test)]
mod codes;
#[cfg(test)]
mod keys;

pub use crate::ingest::testing::item_digest;
#[cfg(test)]
pub(super) use codes::{coded, sets};
#[cfg(test)]
pub(super) use keys::{Firsts, placed, placed_digests};

/// Keys that digests tell.
pub(super) struct Integers;

impl Payload for Integers {
    fn append_to(&self, _rows: impl ExactSizeIterator<Item = usize> + Clone, _store: &mut KeyStore) {}
}

/// Contributions of integer users and items, pushed in small batches.
#[must_use]
pub fn contributions(rows: &[(u64, u64)], key: &ReleaseKey) -> Contributions {
    ordered(rows, key, None)
}

/// Users with paths, whose parts this separates: the nodes of a tree.
#[must_use]
pub fn paths(rows: &[(i64, String)], separator: &str, key: &ReleaseKey) -> Contributions {
    let (users, paths): (Vec<i64>, Vec<&str>) =
        rows.iter().map(|(user, path)| (*user, path.as_str())).unzip();
    let columns: [(&str, ArrayRef); 2] =
        [("user", Arc::new(Int64Array::from(users))), ("item", Arc::new(StringArray::from(paths)))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let schema = batch.schema();
    let source = Source::Stream(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    let levels = Some(Levels::Separator(separator.into()));
    let columns = Columns { user: "user".into(), items: vec!["item".into()], ngrams: None, levels };
    read(source, &columns, None, key, &Control::default()).unwrap()
}

/// The same, with each user's items in an order.
#[must_use]
pub fn ordered(
    rows: &[(u64, u64)],
    key: &ReleaseKey,
    order: Option<&ItemOrder<RanksByDigest>>,
) -> Contributions {
    grouped(rows, key, &order.map_or(RowOrder::Any, |order| RowOrder::Items(order.clone())))
}

/// The same, grouped as an order of rows says.
#[must_use]
pub fn grouped(rows: &[(u64, u64)], key: &ReleaseKey, order: &RowOrder) -> Contributions {
    let control = Control::default();
    let builder = ContributionsBuilder::new(&control);
    for batch in rows.chunks(1000) {
        let (users, items): (Vec<u64>, Vec<u64>) = batch.iter().copied().unzip();
        let mut worker = builder.worker();
        let (mut user_codes, mut item_codes) = (Vec::new(), Vec::new());
        worker.intern(&digests(&users, key, Purpose::UserDigest), &Integers, &mut user_codes).unwrap();
        worker.intern(&digests(&items, key, Purpose::ItemDigest), &Integers, &mut item_codes).unwrap();
        worker.push(&user_codes, None, &item_codes).unwrap();
    }
    let schema = ItemSchema::new([("item", &DataType::UInt64)]).unwrap();
    builder.finish(schema, order).unwrap()
}
