//! One line of NDJSON: only the needed fields are kept, the others are checked and skipped.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The needed fields of one record; of a field that occurs twice, the last counts.
pub(super) struct Record {
    /// In the order of the needed names; `None` where the record has no such field.
    pub(super) values: Vec<Option<Value>>,
    /// Names of all fields of the record, if they were asked for.
    pub(super) names: Vec<String>,
}

/// Parse one line; the decoder's words are dropped because they may quote the line.
pub(super) fn parse(line: &[u8], names: &[String], list: bool) -> Result<Record, ()> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let record = Needed { names, list }.deserialize(&mut deserializer).map_err(drop)?;
    deserializer.end().map_err(drop)?;
    Ok(record)
}

struct Needed<'a> {
    names: &'a [String],
    list: bool,
}

impl<'de> DeserializeSeed<'de> for Needed<'_> {
    type Value = Record;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Record, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Needed<'_> {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let mut record = Record { values: vec![None; self.names.len()], names: Vec::new() };
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            match self.names.iter().position(|needed| *needed == name) {
                Some(at) => record.values[at] = Some(map.next_value()?),
                None => map.next_value::<IgnoredAny>().map(drop)?,
            }
            if self.list {
                record.names.push(name.into_owned());
            }
        }
        Ok(record)
    }
}
