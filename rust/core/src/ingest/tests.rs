//! The encoder against a recorder: representations, nulls, lists, composites and n-grams.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder, StringRunBuilder};
use arrow_array::types::{Int32Type, UInt8Type, UInt64Type};
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};

use super::encode::{Chunk, Encoder, Sink};
use super::plan::Plan;
use super::*;
use crate::Error;
use crate::contributions::{Code, ItemCode, KeyStore, Payload, Side, UserCode};
use crate::random::Digest;
use crate::request::NGrams;

/// Remembers every (user digest, item digest) and the key of every digest.
struct Recorder {
    codes: BTreeMap<Digest, u32>,
    digests: Vec<Digest>,
    store: KeyStore,
    user_digests: Vec<Digest>,
    rows: BTreeSet<(Digest, Digest)>,
    users: BTreeSet<Digest>,
}

impl Sink for Recorder {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        for (row, &digest) in digests.iter().enumerate() {
            let known = if C::SIDE == Side::User { &mut self.user_digests } else { &mut self.digests };
            let next = u32::try_from(known.len()).unwrap();
            let code = *self.codes.entry(digest).or_insert_with(|| {
                known.push(digest);
                if C::SIDE == Side::Item {
                    payload.append_to([row].into_iter(), &mut self.store);
                }
                next
            });
            codes.push(C::new(code));
        }
        Ok(())
    }

    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        let mut items = items.iter();
        for (run, user) in users.iter().enumerate() {
            let user = self.user_digests[user.0 as usize];
            self.users.insert(user);
            for item in items.by_ref().take(lens.map_or(1, |lens| lens[run] as usize)) {
                self.rows.insert((user, self.digests[item.0 as usize]));
            }
        }
        assert!(items.next().is_none(), "the runs cover the codes");
        assert!(lens.is_none_or(|lens| lens.len() == users.len()));
        Ok(())
    }
}

fn columns(items: &[&str], ngrams: Option<NGrams>) -> Columns {
    Columns { user: "u".into(), items: items.iter().map(|&s| s.into()).collect(), ngrams }
}

fn record(user: ArrayRef, items: Vec<ArrayRef>, ngrams: Option<NGrams>) -> Result<(Recorder, RecordBatch)> {
    let names = &["a", "b", "c"][..items.len()];
    let fields = [("u", &user)].into_iter().chain(names.iter().copied().zip(&items));
    let schema =
        Schema::new(fields.map(|(n, c)| Field::new(n, c.data_type().clone(), true)).collect::<Vec<_>>());
    let (plan, _) = Plan::new(&schema, &columns(names, ngrams), "the input")?;
    let item_schema = plan.item_schema()?;
    let recorder = Recorder {
        codes: BTreeMap::new(),
        digests: Vec::new(),
        store: KeyStore::new(item_schema.layout()),
        user_digests: Vec::new(),
        rows: BTreeSet::new(),
        users: BTreeSet::new(),
    };
    let mut encoder = Encoder::new(&plan, &ReleaseKey::insecure_test([1; 32]), recorder);
    encoder.encode(&Chunk { user, items, source: "the input".into(), first_row: 0, work: 0 })?;
    let recorder = encoder.into_sink();
    let keys = (0..recorder.digests.len()).map(|at| (&recorder.store, at));
    let (decoded, _) = sorted(&item_schema.decode(keys)?)?;
    Ok((recorder, decoded))
}

fn ok(user: ArrayRef, items: Vec<ArrayRef>) -> (Recorder, RecordBatch) {
    record(user, items, None).unwrap()
}

fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

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
fn null_items_are_dropped_and_their_users_stay() {
    let users = ints(&[1, 1, 2]);
    let items: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, None]));
    let (recorder, decoded) = ok(users.clone(), vec![items.clone()]);
    assert_eq!((recorder.users.len(), recorder.rows.len(), decoded.num_rows()), (2, 1, 1));
    let (recorder, decoded) = ok(users.clone(), vec![items, ints(&[1, 2, 3])]);
    assert_eq!((recorder.users.len(), recorder.rows.len(), decoded.num_rows()), (2, 1, 1));
    let (recorder, decoded) = ok(users, vec![Arc::new(NullArray::new(3))]);
    assert_eq!((recorder.users.len(), recorder.rows.len(), decoded.num_rows()), (2, 0, 0));
}

#[test]
fn unused_and_null_dictionary_values_are_no_items() {
    let values = Arc::new(StringArray::from(vec![Some("secret"), None, Some("used"), Some("used")]));
    let dictionary = DictionaryArray::<Int32Type>::new(vec![Some(2), Some(1), None, Some(3)].into(), values);
    let (recorder, decoded) = ok(ints(&[1, 2, 3, 1]), vec![Arc::new(dictionary)]);
    assert_eq!(recorder.rows.len(), 1);
    assert_eq!(decoded.column(0).as_ref(), &StringArray::from(vec!["used"]));
}

#[test]
fn lists_are_exploded() {
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a"), None, Some("b")]);
    lists.append_null();
    lists.append_value(Vec::<Option<&str>>::new());
    lists.append_value([Some("b")]);
    let lists: ArrayRef = Arc::new(lists.finish());
    let flat = ok(ints(&[1, 1, 4]), vec![Arc::new(StringArray::from(vec!["a", "b", "b"]))]).0.rows;
    let users = ints(&[1, 2, 3, 4]);
    let element = Arc::new(Field::new_list_field(DataType::Utf8, true));
    for data_type in [
        DataType::List(element.clone()),
        DataType::LargeList(element.clone()),
        DataType::ListView(element.clone()),
        DataType::LargeListView(element),
    ] {
        let column = arrow_cast::cast(&lists, &data_type).unwrap();
        let (recorder, decoded) = ok(users.clone(), vec![column.clone()]);
        assert_eq!((recorder.users.len(), &recorder.rows), (4, &flat), "{data_type}");
        assert_eq!(decoded.column(0).as_ref(), &StringArray::from(vec!["a", "b"]));
        let sliced = ok(ints(&[4]), vec![column.slice(3, 1)]).0;
        assert!(sliced.rows.is_subset(&flat) && sliced.rows.len() == 1, "{data_type}");
    }
    assert!(matches!(record(users, vec![lists.clone(), lists], None), Err(Error::Schema { .. })));
}

#[test]
fn ngrams_are_the_items() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("A b"), None, Some("b!")]));
    let grams = Some(NGrams { min: 1, max: 2 });
    let (recorder, decoded) = record(ints(&[1, 1, 2]), vec![texts.clone()], grams).unwrap();
    assert_eq!(decoded.column(0).as_ref(), &StringArray::from(vec!["a", "a b", "b"]));
    assert_eq!(recorder.rows.len(), 4);
    let dictionary =
        arrow_cast::cast(&texts, &DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)));
    let other = record(ints(&[1, 1, 2]), vec![dictionary.unwrap()], grams).unwrap().0;
    assert_eq!(other.rows, recorder.rows);
    assert!(matches!(record(ints(&[1]), vec![ints(&[1])], grams), Err(Error::Schema { .. })));
}

#[test]
fn long_inputs_cross_slices_and_dictionary_batches() {
    let n = 50_000_i64;
    let users: Vec<i64> = (0..n).map(|i| i / 7).collect();
    let names: Vec<String> = (0..n).map(|i| format!("item {}", (i * 7919) % 1000)).collect();
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    for name in &names {
        dictionary.append_value(name);
    }
    let plain = ok(ints(&users), vec![Arc::new(StringArray::from(names))]);
    let other = ok(ints(&users), vec![Arc::new(dictionary.finish())]);
    assert_eq!(plain.0.rows, other.0.rows);
    assert_eq!(plain.1, other.1);
    assert_eq!(plain.1.num_rows(), 1000);
}

#[test]
fn null_users_are_refused_with_their_row() {
    let users: ArrayRef = Arc::new(StringArray::from(vec![Some("secret"), None]));
    let Err(error) = record(users, vec![ints(&[1, 2])], None) else { panic!("a null user was accepted") };
    let text = error.to_string();
    assert!(matches!(error, Error::Data { .. }) && text.contains("'u' is null in row 2"), "{text}");
    assert!(!text.contains("secret"));
}

#[test]
fn refused_types_name_the_column_and_the_fix() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    for (user, item, role) in
        [(ints(&[1]), floats.clone(), "item column 'a'"), (floats, ints(&[1]), "user column 'u'")]
    {
        let Err(error) = record(user, vec![item], None) else { panic!("a float was accepted") };
        let text = error.to_string();
        assert!(
            text.contains(role) && text.contains("Float64") && text.contains("integer or string"),
            "{text}"
        );
    }
}
