//! Small tables for unit tests.

use arrow_schema::DataType;
use proptest::prelude::*;

use super::order::RanksByDigest;
use super::shard::Records;
use super::{Contributions, ContributionsBuilder, ItemOrder, KeyStore, Payload, RowOrder};
use crate::ingest::ItemSchema;
use crate::ingest::testing::digests;
use crate::random::{Digest, Purpose, ReleaseKey};
use crate::runtime::Control;

pub(crate) use crate::ingest::testing::item_digest;

/// Keys that digests tell.
pub(super) struct Integers;

impl Payload for Integers {
    fn append_to(&self, _rows: impl ExactSizeIterator<Item = usize> + Clone, _store: &mut KeyStore) {}
}

/// Contributions of integer users and items, pushed in small batches.
pub(crate) fn contributions(rows: &[(u64, u64)], key: &ReleaseKey) -> Contributions {
    ordered(rows, key, None)
}

/// The same, with each user's items in an order.
pub(crate) fn ordered(
    rows: &[(u64, u64)],
    key: &ReleaseKey,
    order: Option<&ItemOrder<RanksByDigest>>,
) -> Contributions {
    grouped(rows, key, &order.map_or(RowOrder::Any, |order| RowOrder::Items(order.clone())))
}

/// The same, grouped as an order of rows says.
pub(crate) fn grouped(rows: &[(u64, u64)], key: &ReleaseKey, order: &RowOrder) -> Contributions {
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

/// The digest of a key by the bits that tell its place, and others.
pub(super) fn placed(place: u32, other: u8) -> Digest {
    Digest(u128::from(other) << 64 | u128::from(place))
}

/// Keys of which many share a home, or a home and a tag, in tables of any size.
pub(super) fn placed_digests() -> impl Strategy<Value = Digest> {
    let place = prop_oneof![
        3 => any::<u32>(),
        1 => (0..16_u32).prop_map(|bits| bits << 24),
        1 => 0..4_u32,
        1 => (0..4_u32).prop_map(|bits| u32::MAX - bits),
    ];
    (place, any::<u8>()).prop_map(|(place, other)| placed(place, other))
}

/// Records the row of each key.
#[derive(Debug, Default)]
pub(super) struct Firsts(pub(super) Vec<usize>);

impl Records<usize> for Firsts {
    fn append(&mut self, first: &usize, rows: impl ExactSizeIterator<Item = usize> + Clone) {
        self.0.extend(rows.map(|row| first + row));
    }
    fn bytes(&self) -> usize {
        self.0.len() * 8
    }
}
