//! Item columns to codes.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use dpsel_exact::random::{KeyKind, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::coder::Coder;
use super::levels::{push_nodes, push_paths};
use super::ngrams::push_ngrams;
use super::sink::{Codes, Sink};
use crate::ingest::columns::{
    ByteColumn, Flat, PackedBytes, Values, decode_runs, dictionary_keys, drop_nulls, element_type, explode,
    filter, plain_values,
};
use crate::ingest::items::{ItemCode, encode_composite};
use crate::ingest::names::{Levels, NGrams};

/// Item columns to codes, with the number of codes of each row.
#[derive(Debug)]
pub(super) struct ItemEncoder {
    /// The names of the columns, and the kinds of key that they declare.
    columns: Vec<(String, KeyKind)>,
    coder: Coder<ItemCode>,
    parts: Option<ItemParts>,
    codes: Vec<ItemCode>,
    /// Number of codes of each row. Unused while every row has one code.
    counts: Vec<u32>,
    packed: PackedBytes,
}

impl ItemEncoder {
    pub(super) fn new<'a>(
        columns: impl Iterator<Item = (&'a str, KeyKind)>,
        parts: Option<ItemParts>,
        key: &ReleaseKey,
    ) -> Self {
        Self {
            columns: columns.map(|(name, kind)| (name.to_owned(), kind)).collect(),
            coder: Coder::new(key, Purpose::ItemDigest),
            parts,
            codes: Vec::new(),
            counts: Vec::new(),
            packed: PackedBytes::default(),
        }
    }

    /// The codes of the next step are good for so long.
    pub(super) fn expect(&mut self, codes: Codes) {
        self.coder.expect(codes);
    }

    /// The codes of some rows, and how many codes each row has: one code each without counts.
    pub(super) fn encode(
        &mut self,
        columns: &[ArrayRef],
        source: &str,
        sink: &mut impl Sink,
    ) -> Result<(&[ItemCode], Option<&[u32]>)> {
        self.codes.clear();
        let one_each = match (columns, self.columns.as_slice()) {
            ([column], [(name, kind)]) => {
                let name = name.clone();
                self.single(column, *kind, sink).map_err(|error| error.in_column(&name, source))?
            }
            _ if matches!(self.parts, Some(ItemParts::Columns)) => self.nodes(columns, source, sink)?,
            _ => self.composite(columns, source, sink)?,
        };
        Ok((&self.codes, (!one_each).then_some(self.counts.as_slice())))
    }

    /// Fill `codes` from one column; true if each row has one code.
    fn single(&mut self, column: &ArrayRef, kind: KeyKind, sink: &mut impl Sink) -> Result<bool> {
        let mut column = decode_runs(column)?;
        let mut one_each = true;
        if element_type(column.data_type()).is_some() {
            self.counts.clear();
            column = decode_runs(&explode(&column, &mut self.counts)?)?;
            one_each = false;
        }
        let (values, valid) = drop_nulls(&column)?;
        if let Some(valid) = valid {
            self.restrict(&valid, one_each);
            one_each = false;
        }
        match &self.parts {
            Some(parts) if values.data_type() != &DataType::Null => {
                let per_text = parts.of_texts(&values, &mut self.packed)?;
                if one_each {
                    self.counts = per_text;
                } else {
                    regroup(&mut self.counts, &per_text);
                }
                self.coder.bytes(KeyKind::Text, &self.packed, sink, &mut self.codes)?;
                Ok(false)
            }
            _ => {
                self.intern_column(&values, kind, sink)?;
                Ok(one_each)
            }
        }
    }

    /// Subtract null rows from the counts.
    fn restrict(&mut self, valid: &BooleanArray, one_each: bool) {
        let flags = valid.values().iter().map(u32::from);
        if one_each {
            self.counts.clear();
            self.counts.extend(flags);
        } else {
            regroup(&mut self.counts, &flags.collect::<Vec<_>>());
        }
    }

    /// Fill `codes` from several columns, each of which is a level of a tree. A row has all nodes down to its first null.
    fn nodes(&mut self, columns: &[ArrayRef], source: &str, sink: &mut impl Sink) -> Result<bool> {
        let mut levels = Vec::with_capacity(columns.len());
        for (column, (name, kind)) in columns.iter().zip(&self.columns) {
            let column = decode_runs(column)?;
            let flat = Flat::new(&plain_values(&column)?, *kind);
            levels.push((flat.map_err(|error| error.in_column(name, source))?, column.logical_nulls()));
        }
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let rows = columns.first().map_or(0, Array::len);
        self.packed.clear();
        self.counts.clear();
        push_nodes(&levels, (&names, source, rows), &mut self.packed, &mut self.counts)?;
        self.coder.bytes(KeyKind::Composite, &self.packed, sink, &mut self.codes)?;
        Ok(false)
    }

    /// Fill `codes` from several columns; true if each row has one code. A row with a null in any column is dropped.
    fn composite(&mut self, columns: &[ArrayRef], source: &str, sink: &mut impl Sink) -> Result<bool> {
        let columns: Vec<ArrayRef> = columns.iter().map(decode_runs).collect::<Result<_>>()?;
        let nulls = columns
            .iter()
            .fold(None, |all, column| NullBuffer::union(all.as_ref(), column.logical_nulls().as_ref()));
        let valid = nulls.filter(|n| n.null_count() > 0).map(|n| BooleanArray::new(n.inner().clone(), None));
        let mut flats = Vec::with_capacity(columns.len());
        for (column, (name, kind)) in columns.iter().zip(&self.columns) {
            let kept = match &valid {
                Some(valid) => filter(column, valid)?,
                None => ArrayRef::clone(column),
            };
            let flat = Flat::new(&plain_values(&kept)?, *kind);
            flats.push(flat.map_err(|error| error.in_column(name, source))?);
        }
        let rows = match (&valid, columns.first()) {
            (Some(valid), _) => valid.true_count(),
            (None, Some(first)) => first.len(),
            (None, None) => 0,
        };
        self.packed.clear();
        encode_composite(&flats, rows, &mut self.packed);
        self.coder.bytes(KeyKind::Composite, &self.packed, sink, &mut self.codes)?;
        if let Some(valid) = &valid {
            self.restrict(valid, true);
        }
        Ok(valid.is_none())
    }

    fn intern_column(&mut self, column: &ArrayRef, kind: KeyKind, sink: &mut impl Sink) -> Result<()> {
        match dictionary_keys(column) {
            Some((keys, values)) => self.coder.dictionary(kind, &keys, values, sink, &mut self.codes),
            None => self.coder.flat(&Flat::new(column, kind)?, sink, &mut self.codes),
        }
    }
}

/// What rows have in place of the value of a column.
#[derive(Debug, Clone)]
pub(super) enum ItemParts {
    /// The n-grams of a text.
    NGrams(NGrams),
    /// The nodes of a path, between these separators.
    Paths(String),
    /// A node for each column.
    Columns,
}

impl ItemParts {
    pub(super) fn of(ngrams: Option<NGrams>, levels: Option<&Levels>) -> Option<Self> {
        match levels {
            Some(Levels::Columns) => Some(Self::Columns),
            Some(Levels::Separator(text)) => Some(Self::Paths(text.clone())),
            None => ngrams.map(Self::NGrams),
        }
    }

    /// Write those of texts to `packed`. Returns the number of each text.
    fn of_texts(&self, texts: &ArrayRef, packed: &mut PackedBytes) -> Result<Vec<u32>> {
        let plain = plain_values(texts)?;
        let mut counts = Vec::with_capacity(plain.len());
        packed.clear();
        match &Flat::new(&plain, KeyKind::Text)?.values {
            Values::Small(texts) => self.push(texts, packed, &mut counts)?,
            Values::Large(texts) => self.push(texts, packed, &mut counts)?,
            Values::Views(texts) => self.push(texts, packed, &mut counts)?,
            Values::Integers(_) | Values::Fixed(_) => return Err(NO_TEXT),
        }
        Ok(counts)
    }

    fn push(&self, texts: &impl ByteColumn, packed: &mut PackedBytes, counts: &mut Vec<u32>) -> Result<()> {
        match self {
            Self::NGrams(ngrams) => push_ngrams(texts, *ngrams, packed, counts),
            Self::Paths(separator) => push_paths(texts, separator.as_bytes(), packed, counts),
            Self::Columns => Err(NO_TEXT),
        }
    }
}

const NO_TEXT: Error = Error::Internal("parts of a column that is not text");

/// Turns elements per row (`outer`) into codes per row, given the codes of each element (`inner`).
fn regroup(outer: &mut [u32], inner: &[u32]) {
    let mut inner = inner.iter();
    for count in outer {
        let elements = *count as usize;
        *count = inner.by_ref().take(elements).fold(0, |sum, n| sum.saturating_add(*n));
    }
}
