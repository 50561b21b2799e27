//! Reports as text: each field stands once, a fingerprint covers all fields, and two texts are compared.

use std::fmt;

use dpsel_exact::{Error, Result};
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::{Map, Number, Value};

/// The field of the fingerprint.
const FINGERPRINT: &str = "fingerprint";

#[derive(Serialize)]
struct Sealed<'a, T> {
    #[serde(flatten)]
    report: &'a T,
    fingerprint: String,
}

/// The report as indented JSON, with its fingerprint.
///
/// # Errors
/// [`Error::Internal`] never in practice: every field serialises.
pub(super) fn sealed<T: Serialize>(report: &T) -> Result<String> {
    let fingerprint = fingerprint(&value_of(report)?);
    serde_json::to_string_pretty(&Sealed { report, fingerprint })
        .map_err(|_| Error::Internal("the report does not serialise"))
}

/// The differences between the text of a report and the report derived from its request: one sentence for each field.
///
/// # Errors
/// [`Error::Report`] for a text that is no JSON or has a field twice.
pub(super) fn differences_of<T: Serialize>(json: &str, derived: &T) -> Result<Vec<String>> {
    let (given, stated) = split(json)?;
    let mut found = Vec::new();
    compare(&given, &value_of(derived)?, "", &mut found);
    if stated.as_deref() != Some(fingerprint(&given).as_str()) {
        found.push("the fingerprint is not the one of this report: a part of it was changed".into());
    }
    Ok(found)
}

fn value_of<T: Serialize>(report: &T) -> Result<Value> {
    serde_json::to_value(report).map_err(|_| Error::Internal("the report does not serialise"))
}

/// The report without its fingerprint, and the fingerprint.
fn split(json: &str) -> Result<(Value, Option<String>)> {
    let mut given = parse(json)?;
    let stated = given.as_object_mut().and_then(|fields| fields.remove(FINGERPRINT));
    Ok((given, stated.and_then(|text| text.as_str().map(str::to_owned))))
}

/// BLAKE3 of the fields in a canonical text: sorted by name, numbers in one form. It does not depend on the JSON
/// writer.
fn fingerprint(report: &Value) -> String {
    let mut text = String::new();
    canonical(report, &mut text);
    let mut hasher = blake3::Hasher::new_derive_key("dpsel.v1.report.fingerprint");
    hasher.update(text.as_bytes()).finalize().to_hex().to_string()
}

/// Add one value to a text: a letter for its kind, its length, its content.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null => piece(out, "n", ""),
        Value::Bool(flag) => piece(out, "b", if *flag { "1" } else { "0" }),
        Value::Number(number) => piece(out, "d", &canonical_number(number)),
        Value::String(string) => piece(out, "s", string),
        Value::Array(values) => {
            piece(out, "a", &values.len().to_string());
            for each in values {
                canonical(each, out);
            }
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            piece(out, "o", &names.len().to_string());
            for name in names {
                piece(out, "", name);
                if let Some(field) = fields.get(name) {
                    canonical(field, out);
                }
            }
        }
    }
}

/// Add a letter, the length of a content, and the content.
fn piece(out: &mut String, kind: &str, content: &str) {
    out.push_str(kind);
    out.push_str(&content.len().to_string());
    out.push(':');
    out.push_str(content);
}

/// A number in one form, with a point or without: its digits if it is whole, otherwise the bits of its `f64`.
fn canonical_number(number: &Number) -> String {
    const EXACT: f64 = (1_u64 << 53) as f64;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            // No sign for zero, as in integers.
            format!("{:.0}", if float == 0.0 { 0.0 } else { float })
        }
        Some(float) if number.is_f64() => format!("{:016x}", float.to_bits()),
        _ => number.to_string(),
    }
}

/// Add a sentence for each field that differs. Only names of fields of a report are quoted: other names are foreign
/// text.
fn compare(given: &Value, derived: &Value, path: &str, found: &mut Vec<String>) {
    let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (given, derived) {
        (Value::Object(given), Value::Object(derived)) => {
            for (name, want) in derived {
                match given.get(name) {
                    Some(field) => compare(field, want, &inside(name), found),
                    None => found.push(format!("{} is missing", inside(name))),
                }
            }
            if given.keys().any(|name| !derived.contains_key(name)) {
                found.push(format!("{} has an unknown field", if path.is_empty() { "it" } else { path }));
            }
        }
        (Value::Array(given), Value::Array(derived)) if given.len() == derived.len() => {
            for (index, (given, derived)) in given.iter().zip(derived).enumerate() {
                compare(given, derived, &inside(&(index + 1).to_string()), found);
            }
        }
        (Value::Number(given), Value::Number(derived))
            if canonical_number(given) == canonical_number(derived) => {}
        _ if given == derived => {}
        _ => found.push(format!("{path} is not what the request calls for")),
    }
}

/// Read JSON. A text in which a field stands twice is refused: readers of JSON disagree about which of the two counts.
///
/// # Errors
/// [`Error::Report`] if a field stands twice, or the text is no JSON.
pub(super) fn parse(json: &str) -> Result<Value> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = Once.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|e| Error::Report(e.to_string()))
}

struct Once;

impl<'de> DeserializeSeed<'de> for Once {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> std::result::Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> std::result::Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> std::result::Result<Value, A::Error> {
        let mut found = Vec::new();
        while let Some(value) = values.next_element_seed(Once)? {
            found.push(value);
        }
        Ok(found.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<Value, A::Error> {
        let mut found = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if found.insert(name, fields.next_value_seed(Once)?).is_some() {
                return Err(A::Error::custom("a field stands twice"));
            }
        }
        Ok(found.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_sees_every_change_and_no_way_of_writing() {
        let print = |json: &str| fingerprint(&parse(json).unwrap());
        let same = [r#"{"a": 1, "b": [1.0, "x"]}"#, r#"{"b":[1,"x"],"a":1.0}"#];
        assert_eq!(print(same[0]), print(same[1]));
        assert_eq!(print("[1e-5, 100000.0, -0.0]"), print("[0.00001, 1e5, 0]"));
        assert_ne!(print("1e-5"), print("1.0000000000000003e-5"));
        for other in [
            r#"{"a": 2, "b": [1, "x"]}"#,
            r#"{"a": 1, "b": [1], "c": "x"}"#,
            r#"{"a": 1, "b": ["1", "x"]}"#,
            r#"{"a": 1, "b": [1, "x", null]}"#,
            r#"{"a": true, "b": [1, "x"]}"#,
        ] {
            assert_ne!(print(same[0]), print(other), "{other}");
        }
    }

    #[test]
    fn a_field_that_stands_twice_is_refused_at_any_depth() {
        for json in [r#"{"a": 1, "a": 1}"#, r#"{"a": {"b": [{"c": 1, "c": 2}]}}"#] {
            assert!(matches!(parse(json), Err(Error::Report(text)) if text.contains("twice")));
        }
    }

    #[test]
    fn a_foreign_field_is_not_quoted() {
        let derived = serde_json::json!({"a": {"b": 1}});
        let found = differences_of(r#"{"a": {"b": 1, "secret": 2}}"#, &derived).unwrap();
        assert_eq!(found[0], "a has an unknown field");
        assert!(found.iter().all(|text| !text.contains("secret")));
    }
}
