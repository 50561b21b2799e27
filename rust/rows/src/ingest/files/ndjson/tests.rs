//! Lines of NDJSON: values are taken exactly, or not at all.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_schema::DataType;

use super::column::ColumnBuilder;
use super::record::parse;
use super::value::{JsonValue, unify};

fn names() -> Vec<String> {
    vec!["item".into(), "user".into()]
}

/// The value of the field `item`.
fn item(line: &str) -> Option<JsonValue<'_>> {
    parse(line.as_bytes(), &names()).unwrap().values.swap_remove(0)
}

fn type_of(value: &str) -> DataType {
    item(&format!("{{\"item\": {value}}}")).unwrap().data_type()
}

fn is_taken(value: &str, data_type: &DataType) -> bool {
    let line = format!("{{\"item\": {value}}}");
    ColumnBuilder::new(data_type).unwrap().push(item(&line).unwrap())
}

#[test]
fn numbers_beyond_a_double_are_exact() {
    let mut signed = ColumnBuilder::new(&DataType::Int64).unwrap();
    for text in ["9007199254740993", "9223372036854775807", "-9223372036854775808"] {
        assert!(signed.push(item(&format!("{{\"item\": {text}}}")).unwrap()));
    }
    let signed = signed.finish().unwrap();
    assert_eq!(signed.as_primitive::<Int64Type>().values()[..], [9_007_199_254_740_993, i64::MAX, i64::MIN]);
    let mut unsigned = ColumnBuilder::new(&DataType::UInt64).unwrap();
    for text in ["0", "18446744073709551615"] {
        assert!(unsigned.push(item(&format!("{{\"item\": {text}}}")).unwrap()));
    }
    let unsigned = unsigned.finish().unwrap();
    assert_eq!(unsigned.as_primitive::<UInt64Type>().values()[..], [0, u64::MAX]);
}

#[test]
fn a_value_of_another_type_is_not_converted() {
    for value in ["\"12\"", "1.0", "1e3", "-0", "true", "9223372036854775808", "[1]", "{}"] {
        assert!(!is_taken(value, &DataType::Int64), "{value}");
    }
    for value in ["12", "true", "[\"a\"]"] {
        assert!(!is_taken(value, &DataType::Utf8), "{value}");
    }
    assert!(!is_taken("-1", &DataType::UInt64) && !is_taken("18446744073709551616", &DataType::UInt64));
    assert!(!is_taken("\"true\"", &DataType::Boolean) && !is_taken("1", &DataType::Boolean));
}

#[test]
fn types_follow_the_values() {
    assert_eq!(type_of("9223372036854775807"), DataType::Int64);
    assert_eq!(type_of("9223372036854775808"), DataType::UInt64);
    assert_eq!(type_of("18446744073709551616"), DataType::Float64);
    assert_eq!(unify(DataType::Int64, DataType::UInt64), Some(DataType::UInt64));
    assert_eq!(unify(DataType::Int64, DataType::Utf8), None);
    assert_eq!(type_of("[null, 1, 9223372036854775808]"), DataType::new_list(DataType::UInt64, true));
    assert!(matches!(type_of("[1, \"a\"]"), DataType::List(element) if element.data_type().is_nested()));
}

#[test]
fn equal_names_are_noticed_and_escapes_are_resolved() {
    for (line, ambiguous) in
        [(r#"{"item": "a", "\u0069tem": "b"}"#, true), (r#"{"item": "a", "x": 1, "x": 2}"#, false)]
    {
        assert_eq!(parse(line.as_bytes(), &names()).unwrap().is_ambiguous, ambiguous);
    }
    assert!(matches!(item(r#"{"\u0069tem": "\u00fc"}"#), Some(JsonValue::Text(text)) if text == "ü"));
    assert!(matches!(item(r#"{"item": null}"#), Some(JsonValue::Null)));
    assert!(item(r#"{"other": {"item": 1}}"#).is_none());
}

#[test]
fn a_line_is_one_whole_object() {
    for line in [
        "",
        "1",
        "[1]",
        "{\"item\": 1",
        "{\"item\": 1,}",
        "{\"item\": 1} x",
        "{\"item\": 1}{\"item\": 2}",
        "{\"x\": nul}",
    ] {
        assert!(parse(line.as_bytes(), &names()).is_err(), "{line}");
    }
}

#[test]
fn a_line_is_utf8_in_fields_that_are_not_needed() {
    assert!(parse(b"{\"item\": 1, \"x\": \"\xff\"}", &names()).is_err());
    assert!(parse(b"{\"item\": 1, \"\xff\": 1}", &names()).is_err());
}
