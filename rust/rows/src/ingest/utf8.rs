//! Checks that text columns in memory hold valid UTF-8.
//!
//! Decoders check the text in files. An Arrow array from another library is only declared to be text, and no code has
//! checked it. Invalid text would be released as a string that is not valid.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, GenericBinaryArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, Schema};
use dpsel_exact::random::KeyKind;
use dpsel_exact::{Error, Result};
use simdutf8::basic::from_utf8;
use zerocopy::IntoBytes;

use super::columns::{
    ByteColumn, Flat, Values, decode_runs, dictionary_keys, element_type, explode, key_kind, value_type,
};
use super::layout::Positions;

/// The text columns of one stream.
#[derive(Debug)]
pub(super) struct TextCheck(Vec<TextColumn>);

#[derive(Debug)]
struct TextColumn {
    at: usize,
    name: String,
    /// The last dictionary that was found valid. Batches of one table often share a dictionary.
    dictionary: Option<ArrayRef>,
}

impl TextCheck {
    /// The needed columns that hold text, also inside lists and dictionaries.
    pub(super) fn new(schema: &Schema, positions: &Positions) -> Self {
        let texts = positions.ascending().into_iter().filter(|&at| holds_text(schema.field(at).data_type()));
        let column = |at: usize| TextColumn { at, name: schema.field(at).name().clone(), dictionary: None };
        Self(texts.map(column).collect())
    }

    /// Check some rows. The first one is row `first_row` of the source, from 0.
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

/// The first row with text that is not UTF-8. Null rows and unused dictionary values are not checked.
fn first_invalid(column: &ArrayRef, valid_dictionary: &mut Option<ArrayRef>) -> Result<Option<usize>> {
    let column = decode_runs(column)?;
    if element_type(column.data_type()).is_some() {
        let mut counts = Vec::new();
        let elements = explode(&column, &mut counts)?;
        let element = first_invalid(&elements, valid_dictionary)?;
        return Ok(element.map(|element| row_of(element, &counts)));
    }
    match column.as_any_dictionary_opt().map(|dictionary| ArrayRef::clone(dictionary.values())) {
        None => Ok(first_invalid_text(&column, &Flat::new(&column, KeyKind::Text)?)),
        Some(values) if valid_dictionary.as_ref().is_some_and(|valid| Arc::ptr_eq(valid, &values)) => {
            Ok(None)
        }
        Some(values) => {
            let flat = Flat::new(&values, KeyKind::Text)?;
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

/// The row of an element, given the number of elements of each row.
fn row_of(element: usize, counts: &[u32]) -> usize {
    let mut end = 0;
    let is_before = |count: &&u32| {
        end += **count as usize;
        end <= element
    };
    counts.iter().take_while(is_before).count()
}

fn first_invalid_text(column: &dyn Array, flat: &Flat) -> Option<usize> {
    let whole = match &flat.values {
        Values::Small(bytes) => are_texts(bytes),
        Values::Large(bytes) => are_texts(bytes),
        Values::Views(views) => are_views_of_texts(views),
        Values::Fixed(_) | Values::Integers(_) => true,
    };
    if whole { None } else { (0..column.len()).find(|&row| column.is_valid(row) && !is_text(flat, row)) }
}

fn is_text(flat: &Flat, row: usize) -> bool {
    let bytes = match &flat.values {
        Values::Small(c) => ByteColumn::get(c, row),
        Values::Large(c) => ByteColumn::get(c, row),
        Values::Views(c) => ByteColumn::get(c, row),
        Values::Fixed(_) | Values::Integers(_) => return true,
    };
    from_utf8(bytes).is_ok()
}

/// Whether all rows are UTF-8, null rows included. The bytes of all rows are contiguous, so one pass suffices.
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
    from_utf8(bytes).is_ok_and(starts_a_character)
}

/// Views checked together.
const BLOCK: usize = 256;
/// The longest value that a view holds itself, after its length and padded with zeros.
const INLINE: u32 = 12;

/// The length of a view's value: its lowest four bytes.
#[expect(clippy::cast_possible_truncation, reason = "the length is the lowest four bytes")]
fn length(view: u128) -> u32 {
    view as u32
}

/// Whether all rows that are not null are UTF-8.
///
/// Lengths up to twelve and padding zeros are ASCII. So a sequence of views of short values is UTF-8 if and only if the
/// values are. Longer values are collected, with a zero between them.
fn are_views_of_texts(column: &BinaryViewArray) -> bool {
    let mut long = Vec::new();
    let mut block = [0; BLOCK];
    column.views().chunks(BLOCK).enumerate().all(|(at, views)| {
        // A maximum needs no branch, so one instruction handles several views.
        let longest = views.iter().fold(0, |longest, view| longest.max(length(*view)));
        if longest <= INLINE && column.null_count() == 0 {
            return from_utf8(views.as_bytes()).is_ok();
        }
        let block = &mut block[..views.len()];
        block.copy_from_slice(views);
        move_out(column, at * BLOCK, block, &mut long);
        from_utf8(block.as_bytes()).is_ok() && from_utf8(&long).is_ok()
    })
}

/// Blanks the views of nulls and of long values, and collects long values that are not plain ASCII.
fn move_out(column: &BinaryViewArray, first_row: usize, views: &mut [u128], long: &mut Vec<u8>) {
    long.clear();
    for (row, view) in (first_row..).zip(views) {
        if column.is_null(row) {
            *view = 0;
        } else if length(*view) > INLINE {
            *view = 0;
            let value = column.value(row);
            if !value.is_ascii() {
                long.extend_from_slice(value);
                long.push(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, LargeBinaryArray};
    use proptest::prelude::*;

    use super::*;

    /// Pieces of characters, so that they often join to valid text and often do not.
    fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
        let piece = prop_oneof![
            4 => "[a-z]{0,14}".prop_map(String::into_bytes),
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
            let from = start.min(rows.len());
            let length = (rows.len() - from).saturating_sub(end);
            let kept = &rows[from..from + length];
            let expected = kept.iter().flatten().all(|row| std::str::from_utf8(row).is_ok());
            prop_assert_eq!(are_texts(&BinaryArray::from_iter(&rows).slice(from, length)), expected);
            prop_assert_eq!(are_texts(&LargeBinaryArray::from_iter(&rows).slice(from, length)), expected);
            prop_assert_eq!(are_views_of_texts(&BinaryViewArray::from_iter(rows).slice(from, length)), expected);
        }
    }

    #[test]
    fn every_block_of_views_is_looked_at() {
        for (at, bad) in
            [(0, "\u{fc}"), (255, "long enough to stand elsewhere \u{fc}"), (256, "\u{fc}"), (700, "\u{fc}")]
        {
            let mut rows = vec!["twelve bytes".as_bytes(); 701];
            assert!(are_views_of_texts(&BinaryViewArray::from_iter_values(&rows)));
            rows[at] = bad.as_bytes();
            assert!(are_views_of_texts(&BinaryViewArray::from_iter_values(&rows)));
            rows[at] = &bad.as_bytes()[..bad.len() - 1];
            assert!(!are_views_of_texts(&BinaryViewArray::from_iter_values(&rows)), "{at}");
        }
    }

    #[test]
    fn elements_belong_to_rows() {
        let rows: Vec<usize> = (0..4).map(|element| row_of(element, &[0, 2, 0, 1, 1])).collect();
        assert_eq!(rows, [1, 1, 3, 4]);
    }
}
