//! One line of NDJSON. The needed fields are kept; the other fields are checked and skipped.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use serde_json::value::RawValue;

use super::value::JsonValue;

/// The needed fields of one record.
pub(super) struct Record<'a> {
    /// In the order of the needed names; `None` where the record has no such field.
    pub(super) values: Vec<Option<JsonValue<'a>>>,
    /// Whether a needed field occurs twice.
    pub(super) is_ambiguous: bool,
}

/// Parses one line. The decoder's message is dropped, because it may quote the line.
///
/// The whole line is UTF-8, also in fields that are not needed.
pub(super) fn parse<'a>(line: &'a [u8], names: &[String]) -> Result<Record<'a>, ()> {
    let mut deserializer = serde_json::Deserializer::from_str(std::str::from_utf8(line).map_err(drop)?);
    let record = RecordSeed { names }.deserialize(&mut deserializer).map_err(drop)?;
    deserializer.end().map_err(drop)?;
    Ok(record)
}

/// Where the values of the needed fields stand in a line; nowhere for a field that the record does not have.
pub(super) fn places(line: &[u8], names: &[String]) -> Result<Vec<Range<usize>>, ()> {
    let line = std::str::from_utf8(line).map_err(drop)?;
    let fields: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(line).map_err(drop)?;
    let place = |name: &String| {
        // Otherwise: it is no part of the line.
        fields.get(name.as_str()).map_or(0..0, |value| {
            let start = value.get().as_ptr().addr() - line.as_ptr().addr();
            start..start + value.get().len()
        })
    };
    Ok(names.iter().map(place).collect())
}

struct RecordSeed<'a> {
    names: &'a [String],
}

impl<'de> DeserializeSeed<'de> for RecordSeed<'_> {
    type Value = Record<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RecordSeed<'_> {
    type Value = Record<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut record = Record { values: self.names.iter().map(|_| None).collect(), is_ambiguous: false };
        while let Some(place) = map.next_key_seed(FieldSeed { names: self.names })? {
            match place {
                Some(at) => {
                    record.is_ambiguous |= record.values[at].replace(map.next_value()?).is_some();
                }
                None => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(record)
    }
}

/// Finds a field's place among the needed names, without a copy of its name.
struct FieldSeed<'a> {
    names: &'a [String],
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldSeed<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.names.iter().position(|needed| needed == name))
    }
}
