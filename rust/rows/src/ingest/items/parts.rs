//! Released n-grams with those inside them.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use dpsel_exact::random::KeyKind;
use dpsel_exact::{Error, Result};

use super::key_columns::{from_bytes, with_rows};
use crate::ingest::columns::{ByteColumn, Flat, Values};
use crate::ingest::names::NGrams;

/// A column of n-grams with all n-grams inside them, each once.
///
/// # Errors
/// [`Error::Internal`] if it is no column of texts.
pub(crate) fn with_parts(items: &RecordBatch, ngrams: NGrams) -> Result<RecordBatch> {
    const NO_TEXTS: Error = Error::Internal("n-grams of a column that is not text");
    let [column] = items.columns() else { return Err(NO_TEXTS) };
    let flat = Flat::new(column, KeyKind::Text)?;
    let mut texts = match &flat.values {
        Values::Small(texts) => each(texts),
        Values::Large(texts) => each(texts),
        Values::Views(texts) => each(texts),
        Values::Integers(_) | Values::Fixed(_) => return Err(NO_TEXTS),
    };
    let (mut known, mut at): (HashSet<&[u8]>, usize) = (texts.iter().copied().collect(), 0);
    while let Some(text) = texts.get(at).copied() {
        texts.extend(ngrams.above(text).into_iter().flatten().filter(|part| known.insert(part)));
        at += 1;
    }
    let column = from_bytes(column.data_type(), &texts)?;
    with_rows(items.schema(), vec![column], texts.len())
}

fn each(texts: &impl ByteColumn) -> Vec<&[u8]> {
    (0..texts.rows()).map(|row| texts.get(row)).collect()
}
