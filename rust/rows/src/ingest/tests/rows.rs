//! Which rows there are: nulls, dictionaries, lists, n-grams; and what is refused.

use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;

use super::*;

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
    let grams = Some(NGrams { min: 1, max: 2, unit: Unit::Words });
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
