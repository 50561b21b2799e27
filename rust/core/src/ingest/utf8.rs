//! Text from producers in memory: its type promises UTF-8, and nothing before this file has looked.
//!
//! Files are checked by their decoders, row by row or page by page. An Arrow array that another library made is only
//! declared to be text, and what is declared wrongly would leave in the release as a string that is none.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, GenericBinaryArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::columns::{ByteColumn, Flat, Values, dictionary_keys, key_kind, value_type};
use super::encode::decode_runs;
use super::lists::explode;
use super::plan::{Positions, element_type};
use crate::random::KeyKind;
use crate::{Error, Result};

/// The text columns of one stream.
#[derive(Debug)]
pub(super) struct TextCheck(Vec<TextColumn>);

#[derive(Debug)]
struct TextColumn {
    at: usize,
    name: String,
    /// The dictionary that was found valid last; batches of one table often share it.
    dictionary: Option<ArrayRef>,
}

impl TextCheck {
    /// The needed columns that hold text, in lists and dictionaries too.
    pub(super) fn new(schema: &Schema, positions: &Positions) -> Self {
        let texts = positions.ascending().into_iter().filter(|&at| holds_text(schema.field(at).data_type()));
        let column = |at: usize| TextColumn { at, name: schema.field(at).name().clone(), dictionary: None };
        Self(texts.map(column).collect())
    }

    /// Check some rows, of which the first is row `first_row` (from 0) of the source.
    ///
    /// # Errors
    /// [`Error::Data`] naming column and row of the first text that is not UTF-8.
    pub(super) fn check(&mut self, rows: &RecordBatch, source: &str, first_row: u64) -> Result<()> {
        for column in &mut self.0 {
            if let Some(row) = first_invalid(rows.column(column.at), &mut column.dictionary)? {
                let (name, row) = (&column.name, first_row + row as u64 + 1);
                return Err(Error::Data {
                    source_name: source.to_owned(),
                    what: format!("text column '{name}' is not valid UTF-8 in row {row}"),
                    fix: "mend what makes the column, or give it the type binary",
                });
            }
        }
        Ok(())
    }
}

fn holds_text(data_type: &DataType) -> bool {
    let values = value_type(data_type);
    match element_type(values) {
        Some(element) => holds_text(element),
        None => key_kind(values) == Some(KeyKind::Text),
    }
}

/// The first row with text that is not UTF-8. Null rows and unused dictionary values are not looked at.
fn first_invalid(column: &ArrayRef, valid_dictionary: &mut Option<ArrayRef>) -> Result<Option<usize>> {
    let column = decode_runs(column)?;
    if element_type(column.data_type()).is_some() {
        let mut counts = Vec::new();
        let elements = explode(&column, &mut counts)?;
        let element = first_invalid(&elements, valid_dictionary)?;
        return Ok(element.map(|element| row_of(element, &counts)));
    }
    match column.as_any_dictionary_opt().map(|dictionary| ArrayRef::clone(dictionary.values())) {
        None => Ok(first_invalid_text(&column, &Flat::new(&column)?)),
        Some(values) if valid_dictionary.as_ref().is_some_and(|valid| Arc::ptr_eq(valid, &values)) => {
            Ok(None)
        }
        Some(values) => {
            let flat = Flat::new(&values)?;
            if first_invalid_text(&values, &flat).is_some() {
                return Ok(first_invalid_use(&column, &values, &flat));
            }
            *valid_dictionary = Some(values);
            Ok(None)
        }
    }
}

/// The first row that uses an invalid value of a dictionary.
fn first_invalid_use(column: &ArrayRef, values: &ArrayRef, flat: &Flat) -> Option<usize> {
    let (keys, _) = dictionary_keys(column)?;
    let invalid = |key: usize| key < values.len() && values.is_valid(key) && !is_text(flat, key);
    keys.iter().enumerate().position(|(row, &key)| column.is_valid(row) && invalid(key as usize))
}

/// The row to which an element belongs, each row having `counts` of them.
fn row_of(element: usize, counts: &[u32]) -> usize {
    let mut end = 0;
    let after = |&count: &u32| {
        end += count as usize;
        element < end
    };
    counts.iter().position(after).unwrap_or_default()
}

fn first_invalid_text(column: &dyn Array, flat: &Flat) -> Option<usize> {
    let whole = match &flat.values {
        Values::Small(bytes) => are_texts(bytes),
        Values::Large(bytes) => are_texts(bytes),
        Values::Views(views) => are_views_of_texts(views),
        Values::Fixed(_) | Values::Words(_) => true,
    };
    if whole { None } else { (0..column.len()).find(|&row| column.is_valid(row) && !is_text(flat, row)) }
}

fn is_text(flat: &Flat, row: usize) -> bool {
    let bytes = match &flat.values {
        Values::Small(c) => ByteColumn::get(c, row),
        Values::Large(c) => ByteColumn::get(c, row),
        Values::Views(c) => ByteColumn::get(c, row),
        Values::Fixed(_) | Values::Words(_) => return true,
    };
    std::str::from_utf8(bytes).is_ok()
}

/// Whether all rows are UTF-8, null rows included: one pass over their bytes, which lie end to end.
fn are_texts<O: OffsetSizeTrait>(column: &GenericBinaryArray<O>) -> bool {
    let offsets = column.value_offsets();
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return true };
    let (first, last) = (first.as_usize(), last.as_usize());
    let Some(bytes) = column.value_data().get(first..last) else { return false };
    if bytes.is_ascii() {
        return true;
    }
    let starts_a_character =
        |text: &str| offsets.iter().all(|at| text.is_char_boundary(at.as_usize() - first));
    std::str::from_utf8(bytes).is_ok_and(starts_a_character)
}

/// Whether all rows that are not null are UTF-8. Up to twelve bytes stand in the view itself, above its length.
fn are_views_of_texts(column: &BinaryViewArray) -> bool {
    const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;
    const LENGTH: u128 = 0xffff_ffff;
    column.views().iter().enumerate().all(|(row, view)| {
        let plain = view & LENGTH <= 12 && view & HIGH_BITS == 0;
        plain || column.is_null(row) || std::str::from_utf8(column.value(row)).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, LargeBinaryArray};
    use proptest::prelude::*;

    use super::*;

    /// Pieces of characters, so that they often join to valid text and often do not.
    fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
        let piece = prop_oneof![
            4 => "[a-z]{0,9}".prop_map(String::into_bytes),
            2 => "[ü你😀]".prop_map(String::into_bytes),
            1 => prop::sample::select(vec![vec![0xff], vec![0xc3], vec![0xbc], vec![0xf0, 0x9f]]),
        ];
        prop::option::weighted(0.9, prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat()))
    }

    proptest! {
        #[test]
        fn whole_columns_are_text_iff_every_row_is(
            rows in prop::collection::vec(bytes(), 0..6), start in 0..3_usize, end in 0..3_usize,
        ) {
            let kept = start.min(rows.len())..rows.len().max(end + start) - end;
            let kept = kept.start..kept.end.min(rows.len()).max(kept.start);
            let expected = rows[kept.clone()].iter().flatten().all(|row| std::str::from_utf8(row).is_ok());
            let (from, length) = (kept.start, kept.len());
            prop_assert_eq!(are_texts(&BinaryArray::from_iter(&rows).slice(from, length)), expected);
            prop_assert_eq!(are_texts(&LargeBinaryArray::from_iter(&rows).slice(from, length)), expected);
            prop_assert_eq!(are_views_of_texts(&BinaryViewArray::from_iter(rows).slice(from, length)), expected);
        }
    }

    #[test]
    fn elements_belong_to_rows() {
        let rows: Vec<usize> = (0..4).map(|element| row_of(element, &[0, 2, 0, 1, 1])).collect();
        assert_eq!(rows, [1, 1, 3, 4]);
    }
}
