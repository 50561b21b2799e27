//! Every representation of the same values gives the same keys, and every type comes back.

use arrow_array::builder::StringRunBuilder;
use arrow_array::types::{Int32Type, UInt8Type, UInt64Type};

use super::*;

/// All representations must give the rows of the first.
fn agree(representations: &[ArrayRef]) {
    let rows = i64::try_from(representations[0].len()).unwrap();
    let users = ints(&(0..rows).collect::<Vec<_>>());
    let expected = ok(users.clone(), vec![representations[0].clone()]).0.rows;
    let twice = |column: &ArrayRef| ok(users.clone(), vec![column.clone(), column.clone()]).0.rows;
    for column in representations {
        assert_eq!(ok(users.clone(), vec![column.clone()]).0.rows, expected, "{}", column.data_type());
        assert_eq!(twice(column), twice(&representations[0]), "composite of {}", column.data_type());
        let as_user = |c: &ArrayRef| ok(c.clone(), vec![users.clone()]).0.rows;
        assert_eq!(as_user(column), as_user(&representations[0]), "user of {}", column.data_type());
    }
}

#[test]
fn integer_widths_agree() {
    let dictionary: DictionaryArray<UInt8Type> =
        DictionaryArray::new(UInt8Array::from(vec![2, 0, 0, 1]), Arc::new(Int16Array::from(vec![7, 100, 5])));
    let runs =
        RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1, 3, 4]), &UInt32Array::from(vec![5, 7, 100]));
    agree(&[
        ints(&[5, 7, 7, 100]),
        Arc::new(Int8Array::from(vec![5, 7, 7, 100])),
        Arc::new(Int16Array::from(vec![5, 7, 7, 100])),
        Arc::new(Int32Array::from(vec![5, 7, 7, 100])),
        Arc::new(UInt8Array::from(vec![5, 7, 7, 100])),
        Arc::new(UInt16Array::from(vec![5, 7, 7, 100])),
        Arc::new(UInt32Array::from(vec![5, 7, 7, 100])),
        Arc::new(UInt64Array::from(vec![5, 7, 7, 100])),
        Arc::new(dictionary),
        Arc::new(runs.unwrap()),
    ]);
    agree(&[ints(&[-1, -128]), Arc::new(Int8Array::from(vec![-1, -128]))]);
}

#[test]
fn text_types_agree() {
    let values = ["", "a", "exactly twelve", "longer than twelve bytes", "longer than twelve bytes!", "a"];
    let dictionary: DictionaryArray<Int32Type> = values.into_iter().collect();
    let dictionary64: DictionaryArray<UInt64Type> = values.into_iter().collect();
    let mut runs = StringRunBuilder::<Int32Type>::new();
    for value in values {
        runs.append_value(value);
    }
    agree(&[
        Arc::new(StringArray::from_iter_values(values)),
        Arc::new(LargeStringArray::from_iter_values(values)),
        Arc::new(StringViewArray::from_iter_values(values)),
        Arc::new(dictionary),
        Arc::new(dictionary64),
        Arc::new(runs.finish()),
    ]);
}

#[test]
fn binary_types_agree_and_differ_from_text() {
    let values: Vec<&[u8]> = vec![b"ab", b"\xff\x00", b"ab"];
    agree(&[
        Arc::new(BinaryArray::from_iter_values(&values)),
        Arc::new(LargeBinaryArray::from_iter_values(&values)),
        Arc::new(BinaryViewArray::from_iter_values(&values)),
        Arc::new(FixedSizeBinaryArray::try_from_iter(values.iter()).unwrap()),
    ]);
    let text = ok(ints(&[1]), vec![Arc::new(StringArray::from(vec!["1"]))]).0;
    for other in [Arc::new(BinaryArray::from_iter_values([b"1"])) as ArrayRef, ints(&[1])] {
        assert_ne!(ok(ints(&[1]), vec![other]).0.rows, text.rows);
    }
}

#[test]
fn dates_and_timestamps_agree_across_units() {
    agree(&[
        Arc::new(Date32Array::from(vec![3, -3])),
        Arc::new(Date64Array::from(vec![3 * 86_400_000, -3 * 86_400_000])),
    ]);
    agree(&[
        Arc::new(TimestampSecondArray::from(vec![9_000_000_000, -2])),
        Arc::new(TimestampMillisecondArray::from(vec![9_000_000_000_000, -2000])),
        Arc::new(TimestampMicrosecondArray::from(vec![9_000_000_000_000_000, -2_000_000])),
        Arc::new(TimestampNanosecondArray::from(vec![9_000_000_000_000_000_000, -2_000_000_000])),
    ]);
    let naive: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]));
    let zoned: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]).with_timezone("UTC"));
    assert_ne!(ok(ints(&[1]), vec![naive]).0.rows, ok(ints(&[1]), vec![zoned]).0.rows);
}

#[test]
fn every_type_comes_back() {
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int8Array::from(vec![i8::MIN, 0, i8::MAX])),
        Arc::new(Int32Array::from(vec![i32::MIN, 0, i32::MAX])),
        Arc::new(Int64Array::from(vec![i64::MIN, 0, i64::MAX])),
        Arc::new(UInt8Array::from(vec![0, 1, u8::MAX])),
        Arc::new(UInt64Array::from(vec![0, 1, u64::MAX])),
        Arc::new(BooleanArray::from(vec![false, true])),
        Arc::new(Date32Array::from(vec![-1, 0, 19_000])),
        Arc::new(Date64Array::from(vec![-86_400_000, 0])),
        Arc::new(TimestampSecondArray::from(vec![i64::MIN, 0, i64::MAX])),
        Arc::new(TimestampMillisecondArray::from(vec![-1, 1]).with_timezone("Europe/Paris")),
        Arc::new(TimestampMicrosecondArray::from(vec![-1, 1])),
        Arc::new(TimestampNanosecondArray::from(vec![-1, 1])),
        Arc::new(StringArray::from(vec!["", "a", "ü"])),
        Arc::new(LargeStringArray::from(vec!["", "a"])),
        Arc::new(StringViewArray::from(vec!["", "a", "a long string that is not inline"])),
        Arc::new(BinaryArray::from_iter_values([b"\x00", b"\xff"])),
        Arc::new(LargeBinaryArray::from_iter_values([b"a"])),
        Arc::new(BinaryViewArray::from_iter_values([b"a"])),
        Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab", b"cd"].iter()).unwrap()),
    ];
    for array in arrays {
        let users = ints(&vec![0; array.len()]);
        let single = ok(users.clone(), vec![array.clone()]).1;
        assert_eq!(single.column(0), &array);
        let pair = ok(users, vec![array.clone(), array.clone()]).1;
        assert_eq!(pair.columns(), &[array.clone(), array]);
    }
}

#[test]
fn rows_of_another_kind_than_the_schema_declares_are_refused() {
    let key = ReleaseKey::insecure_test([1; 32]);
    let schema = |user, item| Schema::new(vec![Field::new("u", user, true), Field::new("a", item, true)]);
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter_values([b"a"]));
    let dictionary: ArrayRef =
        Arc::new(DictionaryArray::new(UInt8Array::from(vec![0]), Arc::clone(&bytes) as ArrayRef));
    for column in [bytes, dictionary, ints(&[1])] {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        for (users, items) in [(column.clone(), text.clone()), (text, column.clone())] {
            let declared = schema(DataType::Utf8, DataType::Utf8);
            let (layout, _) = ColumnLayout::new(&declared, &columns(&["a"], None), "the input").unwrap();
            let mut encoder = Encoder::new(&layout, &key, Recorder::default());
            let (users, items) = (vec![users], vec![items]);
            let outcome =
                encoder.encode(&Chunk { users, items, source: "the input".into(), first_row: 0, work: 0 });
            let Err(Error::Data { what, .. }) = outcome else { panic!("{}", column.data_type()) };
            assert!(what.contains("another type"), "{what}");
        }
    }
}
