//! Items of public lists: cast if that is exact, refused otherwise.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Date64Array, FixedSizeBinaryArray, Int16Array, Int64Array,
    LargeBinaryArray, LargeStringArray, RecordBatch, StringViewArray, TimestampMicrosecondArray,
    TimestampSecondArray, UInt8Array,
};
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::{Error, Result};

use super::PublicList;
use crate::ingest::names::Columns;
use crate::ingest::source::Source;

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(LargeStringArray::from(values.to_vec()))
}

fn listed(items: ArrayRef, data: &DataType) -> Result<RecordBatch> {
    let users: ArrayRef = Arc::new(Int64Array::from(vec![0; items.len()]));
    let list = RecordBatch::try_from_iter([("user", users), ("item", items)]).unwrap();
    let columns = Columns { user: "user".into(), items: vec!["item".into()], ngrams: None, levels: None };
    let user = Field::new("user", DataType::Int64, false);
    let schema = Schema::new(vec![user, Field::new("item", data.clone(), true)]);
    let made = PublicList::new(list.schema(), vec![list]).beside(&schema, &columns)?;
    let Source::Stream(mut reader) = made else { panic!("a list is a stream") };
    Ok(reader.next().unwrap().unwrap())
}

fn cast_to(items: ArrayRef, expected: &ArrayRef) {
    let data = expected.data_type().clone();
    assert_eq!(listed(items, &data).unwrap().column(1), expected);
}

#[test]
fn what_is_exact_is_cast() {
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![12, -3, 0]));
    cast_to(texts(&["12", "-3", "0"]), &ints);
    cast_to(Arc::clone(&ints), &(Arc::new(Int16Array::from(vec![12, -3, 0])) as ArrayRef));
    cast_to(texts(&["true", "false"]), &(Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![19_753, -1]));
    cast_to(texts(&["2024-01-31", "1969-12-31"]), &days);
    let midnights: ArrayRef = Arc::new(Date64Array::from(vec![19_753 * 86_400_000, -86_400_000]));
    cast_to(texts(&["2024-01-31", "1969-12-31"]), &midnights);
    cast_to(days, &midnights);
    let naive: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1_500_000]));
    cast_to(texts(&["1970-01-01T00:00:01.500"]), &naive);
    let instant: ArrayRef = Arc::new(TimestampSecondArray::from(vec![60]).with_timezone("UTC"));
    cast_to(texts(&["1970-01-01T00:01:00Z"]), &instant);
    cast_to(texts(&["12", "a"]), &(Arc::new(StringViewArray::from(vec!["12", "a"])) as ArrayRef));
    let bytes: ArrayRef = Arc::new(LargeBinaryArray::from(vec![&b"abc"[..]]));
    let fixed = FixedSizeBinaryArray::try_from_iter([b"abc"].into_iter()).unwrap();
    cast_to(bytes, &(Arc::new(fixed) as ArrayRef));
}

#[test]
fn what_is_not_exact_is_refused_by_position() {
    let naive = DataType::Timestamp(arrow_schema::TimeUnit::Second, None);
    for (text, data) in [
        ("012", DataType::Int64),
        ("+5", DataType::Int64),
        ("-0", DataType::Int64),
        (" 5", DataType::Int64),
        ("5.0", DataType::Int64),
        ("1e3", DataType::Int64),
        ("256", DataType::UInt8),
        ("9223372036854775808", DataType::Int64),
        ("", DataType::Int32),
        ("yes", DataType::Boolean),
        ("31.01.2024", DataType::Date32),
        ("2024-1-31", DataType::Date32),
        ("2024-02-30", DataType::Date32),
        ("2024-02-30", DataType::Date64),
        ("2024-01-31T12:00:00", DataType::Date64),
        ("2024-01-31T00:00:00", DataType::Date64),
        ("1970-01-01T00:00:00.5", naive.clone()),
        ("1970-01-01 00:00:00", naive),
    ] {
        let refused = listed(texts(&["1", text][usize::from(data != DataType::Int64)..]), &data);
        let position = usize::from(data == DataType::Int64);
        let Err(Error::Schema { what, .. }) = refused else { panic!("{text} became {data}") };
        assert!(what.contains(&format!("domain= has an item at position {position} ")), "{what}");
    }
    let Err(Error::Schema { what, .. }) =
        listed(Arc::new(Int64Array::from(vec![255, 256])), &DataType::UInt8)
    else {
        panic!("256 became a byte")
    };
    assert!(what.contains("at position 1 that column 'item'"), "{what}");
    assert!(listed(Arc::new(UInt8Array::from(vec![255])), &DataType::Int8).is_err());
}

#[test]
fn what_would_be_guessed_is_refused_by_its_type() {
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1]));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    for (items, data) in [
        (Arc::clone(&ints), DataType::Utf8),
        (Arc::clone(&ints), DataType::Boolean),
        (Arc::clone(&ints), DataType::Date32),
        (Arc::clone(&flags), DataType::Int64),
        (Arc::clone(&days), DataType::Utf8),
        (Arc::clone(&days), DataType::Timestamp(arrow_schema::TimeUnit::Second, None)),
        (texts(&["a"]), DataType::Binary),
    ] {
        let Err(Error::Schema { what, .. }) = listed(items, &data) else { panic!("it became {data}") };
        assert!(what.contains("so none of them could be found"), "{what}");
    }
    // Nobody can hold anything there.
    assert_eq!(listed(Arc::clone(&ints), &DataType::Null).unwrap().column(1), &ints);
}

proptest::proptest! {
    #[test]
    fn texts_become_the_integers_that_print_like_them(text in "[-+ ]?[0-9]{1,20}", number: i64) {
        let printed = number.to_string();
        let made = listed(texts(&[&printed]), &DataType::Int64).unwrap();
        let expected: ArrayRef = Arc::new(Int64Array::from(vec![number]));
        proptest::prop_assert_eq!(made.column(1), &expected);
        let made = listed(texts(&[&text]), &DataType::Int64);
        let canonical = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
        proptest::prop_assert_eq!(made.is_ok(), canonical);
    }
}
