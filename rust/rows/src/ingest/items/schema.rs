//! Names and types of the item columns, and the way from keys back to Arrow columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array, new_empty_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::{Block, Digest, Digester, KeyKind, Purpose, ReleaseKey, ShortBytes};

use super::key_columns::{CORRUPT, from_bytes, from_integers, with_rows};
use super::keys::Key;
use super::{composite, inferred_types};
use crate::ingest::columns::{key_kind, unsupported_type, value_type};
use crate::ingest::names::{INPUT_NAME, LEVEL_COLUMN, Levels};

/// Types and names of the item columns as they came in.
#[derive(Debug, Clone)]
pub struct ItemSchema {
    schema: SchemaRef,
    /// For each column, whether the source declares no type. The released values then determine the type.
    inferred_types: Vec<bool>,
    /// The items are nodes of a tree, whose levels stand in a last column.
    levels: Option<Levels>,
}

impl ItemSchema {
    /// The schema of item columns with these names and types; dictionaries and run-end encodings are replaced
    /// by their values, metadata is left behind.
    ///
    /// # Errors
    /// [`Error::Schema`] for a type that cannot be an item.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, &'a DataType)>) -> Result<Self> {
        let mut fields = Vec::new();
        for (name, data_type) in columns {
            let plain = value_type(data_type);
            if key_kind(plain).is_none() {
                return Err(unsupported_type("item", name, plain, INPUT_NAME));
            }
            fields.push(Field::new(name, plain.clone(), true));
        }
        let inferred_types = vec![false; fields.len()];
        Ok(Self { schema: Arc::new(Schema::new(fields)), inferred_types, levels: None })
    }

    /// The same schema, where the marked columns have no declared type: their types were inferred from values.
    #[must_use]
    pub(in crate::ingest) fn with_undeclared(self, inferred_types: &[bool]) -> Self {
        Self { inferred_types: inferred_types.to_vec(), ..self }
    }

    /// The same schema, of the nodes of a tree.
    #[must_use]
    pub(in crate::ingest) fn with_levels(self, levels: Option<Levels>) -> Self {
        Self { levels, ..self }
    }

    /// What makes the levels of a tree, if items are its nodes.
    pub(crate) fn levels(&self) -> Option<&Levels> {
        self.levels.as_ref()
    }

    /// The kind of key of items that are bytes.
    pub(crate) fn bytes_kind(&self) -> Option<KeyKind> {
        match self.schema.fields().as_ref() {
            [field] => key_kind(field.data_type()).filter(|_| is_bytes(field.data_type())),
            _ => Some(KeyKind::Composite),
        }
    }

    /// The item columns' Arrow schema: names and types as they came in, dictionaries replaced by their values.
    #[must_use]
    pub fn arrow_schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// The kind of the items if they are integer-like. The canonical block of such an item holds its whole value.
    #[must_use]
    pub fn integer_kind(&self) -> Option<KeyKind> {
        let [field] = self.schema.fields().as_ref() else { return None };
        key_kind(field.data_type()).filter(|_| !is_bytes(field.data_type()))
    }

    /// Build the column of integer-like items from the values in their canonical blocks.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] if the items are of another kind, or a value does not fit their type.
    pub fn decode_integers(&self, values: &[i128]) -> Result<RecordBatch> {
        let [field] = self.schema.fields().as_ref() else { return Err(CORRUPT) };
        let column = from_integers(field.data_type(), values.iter().map(|value| Some(*value)))?;
        let items = with_rows(self.arrow_schema(), vec![column], values.len())?;
        let items = inferred_types::infer_types(items, &self.inferred_types)?;
        match self.levels {
            // Parts of a text have levels, so this is a column without a type, and without values.
            Some(_) if values.is_empty() => {
                with_last(&items, LEVEL_COLUMN, new_empty_array(&DataType::Int64))
            }
            Some(_) => Err(CORRUPT),
            None => Ok(items),
        }
    }

    /// Decode keys into freshly built columns (law 5), in the order given. `key` made their digests. A column has its declared type. If the
    /// source declares none, the decoded values determine the type.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Internal`] if the keys do not have this schema.
    pub fn decode<'a>(&self, keys: impl Iterator<Item = Key<'a>>, key: &ReleaseKey) -> Result<RecordBatch> {
        let digester = Digester::new(key, Purpose::ItemDigest);
        if let Some(kind) = self.integer_kind() {
            let digests: Vec<Digest> = keys.map(|key| key.digest).collect();
            let values = digester.integers_of(kind, &digests).ok_or(CORRUPT)?;
            return self.decode_integers(&values);
        }
        let keys: Vec<Key<'a>> = keys.collect();
        let digests: Vec<Digest> = keys.iter().map(|key| key.digest).collect();
        let blocks = digester.blocks_of(&digests);
        let (columns, levels) = match self.schema.fields().as_ref() {
            [field] => {
                let kind = key_kind(field.data_type()).ok_or(CORRUPT)?;
                let short = short_keys(kind, blocks);
                let rest = byte_keys(&keys, &short)?;
                (vec![from_bytes(field.data_type(), &rest)?], self.levels_of(&rest)?)
            }
            fields => {
                let short = short_keys(KeyKind::Composite, blocks);
                let mut rest = byte_keys(&keys, &short)?;
                let levels = self.levels_of(&rest)?;
                let next = |field: &Arc<Field>| component(field.data_type(), levels.is_some(), &mut rest);
                (fields.iter().map(next).collect::<Result<_>>()?, levels)
            }
        };
        let items = with_rows(self.arrow_schema(), columns, keys.len())?;
        let items = inferred_types::infer_types(items, &self.inferred_types)?;
        match levels {
            Some(levels) => with_last(&items, LEVEL_COLUMN, Arc::new(levels)),
            None => Ok(items),
        }
    }

    /// The level of each node, from 1.
    fn levels_of(&self, keys: &[&[u8]]) -> Result<Option<Int64Array>> {
        let Some(levels) = &self.levels else { return Ok(None) };
        let level = |key: &&[u8]| i64::try_from(levels.level(key).ok_or(CORRUPT)?).map_err(|_| CORRUPT);
        keys.iter().map(level).collect::<Result<_>>().map(Some)
    }
}

impl Levels {
    /// The level of the node with this key, from 1; `None` for bytes that are no key.
    pub(crate) fn level(&self, key: &[u8]) -> Option<usize> {
        match self {
            Self::Columns => composite::last_component(key).map(|(_, count)| count),
            Self::Separator(text) => Some(1 + separators(key, text.as_bytes()).count()),
        }
    }

    /// The key of the node directly above the one with this key; `None` for one at the top.
    pub(crate) fn above<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let end = match self {
            Self::Columns => composite::last_component(key)?.0,
            Self::Separator(text) => separators(key, text.as_bytes()).last()?,
        };
        Some(&key[..end]).filter(|key| !key.is_empty())
    }
}

/// Where the separators of a path begin. They do not overlap.
fn separators<'a>(path: &'a [u8], separator: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut first = 0;
    std::iter::from_fn(move || {
        let at = first + path.get(first..)?.windows(separator.len()).position(|text| text == separator)?;
        first = at + separator.len();
        Some(at)
    })
}

/// The columns with one more at their end.
fn with_last(items: &RecordBatch, name: &str, column: ArrayRef) -> Result<RecordBatch> {
    let mut fields: Vec<_> = items.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
    let columns = items.columns().iter().cloned().chain([column]).collect();
    with_rows(Arc::new(Schema::new(fields)), columns, items.num_rows())
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(key_kind(data_type), Some(KeyKind::Text | KeyKind::Binary))
}

/// The keys that fit these blocks.
fn short_keys(kind: KeyKind, blocks: Vec<Block>) -> Vec<Option<ShortBytes>> {
    blocks.into_iter().map(|block| block.short_bytes(kind)).collect()
}

/// The bytes of keys, of which those without a stored key are short.
fn byte_keys<'a>(keys: &[Key<'a>], short: &'a [Option<ShortBytes>]) -> Result<Vec<&'a [u8]>> {
    let bytes = |(key, short): (&Key<'a>, &'a Option<ShortBytes>)| {
        key.long.or_else(|| short.as_ref().map(ShortBytes::as_slice))
    };
    keys.iter().zip(short).map(bytes).collect::<Option<_>>().ok_or(CORRUPT)
}

/// Removes the first component of every composite key and builds its column. Where keys `may_end`, one without
/// components left has a null.
fn component(data_type: &DataType, may_end: bool, keys: &mut [&[u8]]) -> Result<ArrayRef> {
    let mut values = Vec::with_capacity(keys.len());
    let mut places = Vec::with_capacity(keys.len());
    for key in keys.iter_mut() {
        if may_end && key.is_empty() {
            places.push(None);
            continue;
        }
        let (_, value, rest) = composite::next_component(key).ok_or(CORRUPT)?;
        places.push(Some(codes(values.len())));
        values.push(value);
        *key = rest;
    }
    let column = if is_bytes(data_type) {
        from_bytes(data_type, &values)?
    } else {
        from_integers(data_type, values.iter().copied().map(composite::integer))?
    };
    if values.len() == keys.len() {
        return Ok(column);
    }
    arrow_select::take::take(&column, &UInt32Array::from(places), None).map_err(|_| CORRUPT)
}
