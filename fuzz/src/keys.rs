//! Canonical keys: distinct values never collide, equal values agree whatever column holds them.
//!
//! The rules are those of `docs/algorithms/canonical-keys.md`; the model here is a plain map.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use arbitrary::{Arbitrary, Unstructured};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, TimestampSecondArray, UInt8Array, UInt64Array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use dpsel_core::task::{CountRequest, Request, SelectRequest, select_partitions, users_per_item};
use dpsel_exact::random::{Block, Digest, DigestBatch, Digester, KeyKind, Purpose, ReleaseKey};
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;

const KEY: [u8; 32] = [5; 32];
/// The most rows of one input.
const ROWS: usize = 64;

/// A value as the documents define it: its kind, and its canonical bytes.
type Canonical = (u8, Vec<u8>);
/// Values of one column, with nulls.
type Values = Vec<Option<Canonical>>;

/// A column of one kind.
#[derive(Debug, Arbitrary)]
enum Column {
    Signed(Vec<Option<i64>>),
    Small(Vec<Option<i8>>),
    Unsigned(Vec<Option<u64>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
    Booleans(Vec<Option<bool>>),
    Dates(Vec<Option<i32>>),
    Seconds(Vec<Option<i32>>),
    Instants(Vec<Option<i32>>),
}

/// Rows: a user for each, and two item columns.
#[derive(Debug, Arbitrary)]
struct Rows {
    users: Vec<u8>,
    first: Column,
    second: Column,
}

pub(crate) fn agree(bytes: &[u8]) {
    let Ok(rows) = Rows::arbitrary_take_rest(Unstructured::new(bytes)) else { return };
    let (first, second) = (rows.first.values(), rows.second.values());
    let len = rows.users.len().min(first.0.len()).min(second.0.len()).min(ROWS);
    let users: ArrayRef = Arc::new(UInt8Array::from(rows.users[..len].to_vec()));
    let batch = |columns: &[(&str, ArrayRef)]| {
        let columns = columns.iter().map(|(name, column)| (*name, column.slice(0, len)));
        RecordBatch::try_from_iter([("user", Arc::clone(&users))].into_iter().chain(columns))
            .expect("equal lengths")
    };
    for (values, array, types) in [&first, &second] {
        let expected = model(&rows.users, values.iter().take(len).map(Option::clone));
        let mut weights = None;
        for column in types.iter().filter_map(|other| as_type(array, other)) {
            let batch = batch(&[("item", column)]);
            assert_eq!(counted(&batch, &ONE), expected, "{:?}", batch.schema());
            let released = released(&batch, array.data_type());
            assert_eq!(*weights.get_or_insert_with(|| released.clone()), released, "{:?}", batch.schema());
        }
    }
    let both = first.0.iter().zip(&second.0).take(len).map(|(a, b)| Some((a.clone()?, b.clone()?)));
    let pairs = batch(&[("item", Arc::clone(&first.1)), ("other", Arc::clone(&second.1))]);
    assert_eq!(counted(&pairs, &TWO), model(&rows.users, both), "two columns");
    digests(first.0.iter().chain(&second.0).flatten());
}

impl Column {
    /// What the documents say that the values are, the column, and the types that mean the same.
    fn values(&self) -> (Values, ArrayRef, Vec<DataType>) {
        use DataType as T;
        let date = |days: i32| (KeyKind::Date as u8, i128::from(days).to_le_bytes().to_vec());
        match self {
            Self::Signed(v) => (integers(v), Arc::new(Int64Array::from(v.clone())), whole()),
            Self::Small(v) => {
                let wide: Vec<_> = v.iter().map(|x| x.map(i64::from)).collect();
                (integers(v), Arc::new(Int64Array::from(wide)), whole())
            }
            Self::Unsigned(v) => (integers(v), Arc::new(UInt64Array::from(v.clone())), whole()),
            Self::Texts(v) => {
                let values = named(KeyKind::Text, v, |text| text.as_bytes().to_vec());
                (
                    values,
                    Arc::new(StringArray::from(v.clone())),
                    with_dictionary([T::Utf8, T::LargeUtf8, T::Utf8View]),
                )
            }
            Self::Bytes(v) => {
                let values = named(KeyKind::Binary, v, Vec::clone);
                let array: BinaryArray = v.iter().map(|x| x.as_deref()).collect();
                (values, Arc::new(array), with_dictionary([T::Binary, T::LargeBinary, T::BinaryView]))
            }
            Self::Booleans(v) => {
                let values = named(KeyKind::Boolean, v, |b| vec![u8::from(*b)]);
                (values, Arc::new(BooleanArray::from(v.clone())), vec![T::Boolean])
            }
            Self::Dates(v) => {
                let values = v.iter().map(|days| days.map(date)).collect();
                (values, Arc::new(Date32Array::from(v.clone())), vec![T::Date32, T::Date64])
            }
            Self::Seconds(v) => times(KeyKind::Timestamp, v, None),
            Self::Instants(v) => times(KeyKind::Instant, v, Some("UTC")),
        }
    }
}

/// Whole numbers: the number itself, whatever its width.
fn integers<T: Copy + Into<i128>>(values: &[Option<T>]) -> Values {
    values.iter().map(|x| x.map(|x| (KeyKind::Integer as u8, x.into().to_le_bytes().to_vec()))).collect()
}

fn named<T>(kind: KeyKind, values: &[Option<T>], bytes: impl Fn(&T) -> Vec<u8>) -> Values {
    values.iter().map(|x| x.as_ref().map(|x| (kind as u8, bytes(x)))).collect()
}

/// Points in time, in whole seconds so that every unit can hold them.
fn times(kind: KeyKind, seconds: &[Option<i32>], zone: Option<&str>) -> (Values, ArrayRef, Vec<DataType>) {
    let nanoseconds = |s: i32| i128::from(s) * 1_000_000_000;
    let values =
        seconds.iter().map(|s| s.map(|s| (kind as u8, nanoseconds(s).to_le_bytes().to_vec()))).collect();
    let plain: TimestampSecondArray = seconds.iter().map(|s| s.map(i64::from)).collect();
    let zone: Option<Arc<str>> = zone.map(Into::into);
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let types = units.map(|unit| DataType::Timestamp(unit, zone.clone()));
    (values, Arc::new(plain.with_timezone_opt(zone)), types.into())
}

fn whole() -> Vec<DataType> {
    use DataType as T;
    with_dictionary([T::Int64, T::Int32, T::Int16, T::Int8, T::UInt64, T::UInt32, T::UInt16, T::UInt8])
}

fn with_dictionary<const N: usize>(types: [DataType; N]) -> Vec<DataType> {
    let dictionary = |of: &DataType| DataType::Dictionary(Box::new(DataType::Int32), Box::new(of.clone()));
    let encoded = types.first().map(dictionary);
    types.into_iter().chain(encoded).collect()
}

/// The same values as another type, if it holds all of them.
fn as_type(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    let exactly = CastOptions { safe: false, ..CastOptions::default() };
    let there = cast_with_options(array, to, &exactly).ok()?;
    let back = cast_with_options(&there, array.data_type(), &exactly).ok()?;
    (back.as_ref() == array.as_ref()).then_some(there)
}

/// How many items have how many users: (users, items), ascending.
fn model<K: Ord>(users: &[u8], values: impl Iterator<Item = Option<K>>) -> Vec<(u32, u64)> {
    let mut holders: BTreeMap<K, BTreeSet<u8>> = BTreeMap::new();
    for (user, value) in users.iter().zip(values) {
        if let Some(value) = value {
            holders.entry(value).or_default().insert(*user);
        }
    }
    let mut counts = BTreeMap::new();
    for users in holders.values() {
        *counts.entry(u32::try_from(users.len()).expect("at most 256 users")).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

static ONE: LazyLock<SelectRequest> = LazyLock::new(|| request(r#"["item"]"#));
static TWO: LazyLock<SelectRequest> = LazyLock::new(|| request(r#"["item", "other"]"#));

fn request(items: &str) -> SelectRequest {
    Request::from_json(&format!(
        r#"{{"task": "select", "columns": {{"user": "user", "items": {items}}}, "privacy": {{"kind": "zcdp", "rho": 1000.0,
            "delta": 0.5}}, "max_items_per_user": 64, "mechanism": {{"name": "weighted_gaussian"}},
            "with_weights": true}}"#
    ))
    .and_then(Request::into_select)
    .expect("a valid request")
}

fn source(batch: &RecordBatch) -> Source {
    Source::Stream(Box::new(RecordBatchIterator::new([Ok(batch.clone())], batch.schema())))
}

fn counted(batch: &RecordBatch, request: &SelectRequest) -> Vec<(u32, u64)> {
    let key = ReleaseKey::insecure_test(KEY);
    let request = CountRequest { columns: request.columns.clone() };
    users_per_item(source(batch), &request, &key, &Control::default()).expect("a supported type")
}

/// Items and noisy weights: the weights tell the items' digests apart.
fn released(batch: &RecordBatch, as_type: &DataType) -> (ArrayRef, ArrayRef) {
    let key = ReleaseKey::insecure_test(KEY);
    let items = select_partitions(source(batch), &ONE, &key, &Control::default()).expect("a release").items;
    let item =
        cast_with_options(items.column(0), as_type, &CastOptions::default()).expect("the type it came from");
    (item, Arc::clone(items.column(1)))
}

/// Digests and blocks differ exactly where the values do, across kinds.
fn digests<'a>(values: impl Iterator<Item = &'a Canonical>) {
    let digester = Digester::new(&ReleaseKey::insecure_test(KEY), Purpose::ItemDigest);
    let distinct: BTreeSet<&Canonical> = values.collect();
    let mut found = BTreeSet::new();
    for (kind, bytes) in &distinct {
        let mut out: Vec<Digest> = Vec::new();
        match (number(*kind, bytes), kind) {
            (Some((kind, value)), _) => digester.integers(kind, [value], &mut out),
            (None, &kind) => {
                let kind = if kind == KeyKind::Text as u8 { KeyKind::Text } else { KeyKind::Binary };
                digester.bytes(kind, [bytes.as_slice()], &mut DigestBatch::default(), &mut out);
                let block = Block::bytes(kind, bytes);
                if block != Block::LONG {
                    digester.blocks([block], &mut out);
                    assert_eq!(out[0], out[1], "a block and its digest");
                }
            }
        }
        found.insert(out[0]);
    }
    assert_eq!(found.len(), distinct.len(), "two values have one digest");
}

/// The kind and the number of an integer-like value.
fn number(kind: u8, bytes: &[u8]) -> Option<(KeyKind, i128)> {
    let kinds = [KeyKind::Integer, KeyKind::Boolean, KeyKind::Date, KeyKind::Timestamp, KeyKind::Instant];
    let kind = kinds.into_iter().find(|known| *known as u8 == kind)?;
    let wide = bytes.try_into().map(i128::from_le_bytes);
    Some((kind, wide.unwrap_or_else(|_| i128::from(bytes[0]))))
}
