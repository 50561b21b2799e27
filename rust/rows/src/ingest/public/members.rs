//! Which rows of a table have an item of a list: the items of a release, looked up in any table.
//!
//! Both sides are digested as the rows of a selection are. So two items are equal here exactly if they are equal there:
//! integers of all widths agree, and so do all types of text, but the integer 1 and the text "1" do not.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::kind_names::kind_name;
use crate::ingest::columns::{element_type, key_kind, key_type, unsupported, value_type};
use crate::ingest::encode::{Chunk, Encoder, Sink};
use crate::ingest::items::{Code, ItemCode, Payload, Side, UserCode, with_rows};
use crate::ingest::layout::ColumnLayout;
use crate::ingest::names::{Columns, Levels};

/// The list's and the table's names in errors.
const LIST: &str = "the release";
const TABLE: &str = "the table";

/// A set of items. Its digests have a key of their own, which is drawn for each set.
#[derive(Debug)]
pub struct Members {
    items: HashSet<Digest>,
    types: Vec<DataType>,
    levels: Option<Levels>,
    key: ReleaseKey,
}

impl Members {
    /// The items in the rows of a table, whose columns are all item columns. With levels they are the nodes of a tree.
    ///
    /// # Errors
    /// [`Error::Schema`] for types that cannot be items; [`Error::Entropy`] if there is no key.
    pub fn new(items: &RecordBatch, levels: Option<Levels>) -> Result<Self> {
        let key = ReleaseKey::from_system()?;
        let found = encoded(items, (&key, levels.as_ref()), LIST, Collected::default())?;
        let types = items.schema_ref().fields().iter().map(|field| value_type(field.data_type()).clone());
        Ok(Self { items: found.0, types: types.collect(), levels, key })
    }

    /// Whether each row of a table is one of the items. A row with a null in a column has no item, but in a tree a null ends
    /// the path of a node. The columns stand in
    /// the order of the list's, whatever their names are.
    ///
    /// # Errors
    /// [`Error::Schema`] if the columns cannot be items, or are of other kinds than the list's.
    pub fn rows(&self, table: &RecordBatch) -> Result<Vec<Option<bool>>> {
        Ok(self.known(table)?.rows)
    }

    /// The level of the lowest item of the list that each row of a table has, in a tree; 0 if it has none.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn levels(&self, table: &RecordBatch) -> Result<Vec<u8>> {
        Ok(self.known(table)?.levels)
    }

    fn known(&self, table: &RecordBatch) -> Result<KnownItems<'_>> {
        self.check(table.schema_ref())?;
        let (rows, levels) = (Vec::with_capacity(table.num_rows()), Vec::new());
        let known = KnownItems { items: &self.items, rows, levels };
        encoded(table, (&self.key, self.levels.as_ref()), TABLE, known)
    }

    /// Refuse a table whose columns could hold none of the items.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn check(&self, schema: &Schema) -> Result<()> {
        if schema.fields().len() != self.types.len() {
            return Err(Error::Schema {
                what: format!(
                    "an item of the release has {} columns, and {} were named",
                    self.types.len(),
                    schema.fields().len()
                ),
                fix: "give item= as many columns as in the release, in the same order".into(),
            });
        }
        self.types.iter().zip(schema.fields()).try_for_each(|(ours, field)| self.check_column(ours, field))
    }

    fn check_column(&self, ours: &DataType, field: &Field) -> Result<()> {
        let theirs = value_type(field.data_type());
        if element_type(theirs).is_some() {
            return Err(Error::Schema {
                what: format!("column '{}' of the table is a list, so a row has several items", field.name()),
                fix: "unnest (explode) it first, so that each row has one".into(),
            });
        }
        let (theirs, kind) = key_type(field).map_err(|why| unsupported("item", field.name(), why, TABLE))?;
        if key_kind(ours) == Some(kind) || theirs == &DataType::Null || self.items.is_empty() {
            return Ok(());
        }
        Err(Error::Schema {
            what: format!(
                "column '{}' of the table has {}, but the released items are {}, so none could be found",
                field.name(),
                kind_name(theirs),
                kind_name(ours)
            ),
            fix: "cast the column to the type that it had in the selection (columns of CSV files are text)"
                .into(),
        })
    }
}

/// The sink after all rows of a table, each of which is a user of its own.
fn encoded<S: Sink>(
    table: &RecordBatch,
    (key, levels): (&ReleaseKey, Option<&Levels>),
    name: &str,
    sink: S,
) -> Result<S> {
    let rows: ArrayRef = Arc::new((0_i64..).take(table.num_rows()).collect::<Int64Array>());
    let names: Vec<String> = (0..table.num_columns()).map(|at| format!("item {at}")).collect();
    let original = table.schema();
    // Errors name the columns of the table.
    let shown = |error: Error| renamed(error, &names, &original);
    let fields: Vec<Field> = std::iter::once(Field::new("row", DataType::Int64, false))
        .chain(
            names.iter().zip(original.fields()).map(|(name, field)| field.as_ref().clone().with_name(name)),
        )
        .collect();
    let arrays: Vec<ArrayRef> = std::iter::once(rows).chain(table.columns().iter().cloned()).collect();
    let batch = with_rows(Arc::new(Schema::new(fields)), arrays, table.num_rows())?;
    let columns = Columns { user: "row".into(), items: names.clone(), ngrams: None, levels: levels.cloned() };
    let (layout, positions) = ColumnLayout::new(&batch.schema(), &columns, name).map_err(shown)?;
    let mut encoder = Encoder::new(&layout, key, sink);
    let (users, items) = positions.columns(&batch);
    let chunk = Chunk { users, items, source: name.into(), first_row: 0, work: 0 };
    encoder.encode(&chunk).map_err(shown)?;
    Ok(encoder.into_sink())
}

/// The error with the names of the table's columns in place of ours.
fn renamed(error: Error, names: &[String], schema: &Schema) -> Error {
    let renamed = |what: String| {
        names.iter().zip(schema.fields()).rev().fold(what, |what, (ours, theirs)| {
            what.replace(&format!("'{ours}'"), &format!("'{}'", theirs.name()))
        })
    };
    match error {
        Error::Schema { what, fix } => Error::Schema { what: renamed(what), fix },
        Error::Data { source_name, what, fix } => Error::Data { source_name, what: renamed(what), fix },
        other => other,
    }
}

/// Collects the digests of items.
#[derive(Debug, Default)]
struct Collected(HashSet<Digest>);

impl Sink for Collected {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        _payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        if C::SIDE == Side::Item {
            self.0.extend(digests);
        }
        codes.extend(digests.iter().map(|_| C::default()));
        Ok(())
    }

    fn push(&mut self, _users: &[UserCode], _lens: Option<&[u32]>, _items: &[ItemCode]) -> Result<()> {
        Ok(())
    }
}

/// Looks items up: the code of an item is 1 if it is known, and 0 otherwise.
#[derive(Debug)]
struct KnownItems<'a> {
    items: &'a HashSet<Digest>,
    rows: Vec<Option<bool>>,
    /// How many items of each row stand before the last known one, and that one.
    levels: Vec<u8>,
}

impl Sink for KnownItems<'_> {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        _payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        codes.extend(digests.iter().map(|digest| C::new(u32::from(self.items.contains(digest)))));
        Ok(())
    }

    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        const ODD: Error = Error::Internal("rows have other items than they were said to have");
        let mut rest = items;
        for run in 0..users.len() {
            let len = lens.map_or(1, |lens| lens[run] as usize);
            let (of_row, others) = rest.split_at_checked(len).ok_or(ODD)?;
            let last_known = of_row.iter().rposition(|item| item.number() == 1);
            let level = u8::try_from(last_known.map_or(0, |place| place + 1)).map_err(|_| ODD)?;
            // In a tree the last one is the row's own.
            self.rows.push(of_row.last().map(|item| item.number() == 1));
            self.levels.push(level);
            rest = others;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int8Array, Int32Array, LargeStringArray, StringArray, TimestampMillisecondArray};
    use arrow_array::{TimestampMicrosecondArray, UInt64Array};

    use super::*;

    fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
        let named = columns.into_iter().enumerate().map(|(at, column)| (format!("c{at}"), column));
        RecordBatch::try_from_iter_with_nullable(named.map(|(name, column)| (name, column, true))).unwrap()
    }

    fn rows(list: Vec<ArrayRef>, table: Vec<ArrayRef>) -> Vec<Option<bool>> {
        Members::new(&batch(list), None).unwrap().rows(&batch(table)).unwrap()
    }

    #[test]
    fn widths_of_integers_and_types_of_text_agree() {
        let list: ArrayRef = Arc::new(UInt64Array::from(vec![1, 200]));
        let table: ArrayRef = Arc::new(Int8Array::from(vec![Some(1), None, Some(-56), Some(3)]));
        assert_eq!(rows(vec![list], vec![table]), [Some(true), None, Some(false), Some(false)]);
        let list: ArrayRef =
            Arc::new(StringArray::from(vec!["a", "a text that is longer than a block of bytes"]));
        let table: ArrayRef =
            Arc::new(LargeStringArray::from(vec!["a text that is longer than a block of bytes", "b"]));
        assert_eq!(rows(vec![list], vec![table]), [Some(true), Some(false)]);
    }

    #[test]
    fn units_of_timestamps_agree() {
        let list: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1, 2]));
        let table: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1_000, 1_001, 2_000]));
        assert_eq!(rows(vec![list], vec![table]), [Some(true), Some(false), Some(true)]);
    }

    #[test]
    fn several_columns_are_one_item_and_a_null_is_none() {
        let list: Vec<ArrayRef> =
            vec![Arc::new(StringArray::from(vec!["a", "b"])), Arc::new(Int32Array::from(vec![1, 2]))];
        let table: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec![Some("a"), Some("a"), None, Some("b")])),
            Arc::new(Int32Array::from(vec![Some(1), Some(2), Some(1), None])),
        ];
        assert_eq!(rows(list, table), [Some(true), Some(false), None, None]);
    }

    #[test]
    fn many_rows_of_frequent_items_keep_their_places() {
        let list: ArrayRef = Arc::new(UInt64Array::from_iter_values((0..100).map(|n| n * 2)));
        let table: ArrayRef = Arc::new(UInt64Array::from_iter_values((0..50_000).map(|n| n % 300)));
        let expected: Vec<_> = (0..50_000).map(|n| Some(n % 300 < 200 && n % 2 == 0)).collect();
        assert_eq!(rows(vec![list], vec![table]), expected);
    }

    #[test]
    fn other_kinds_and_lists_are_refused_by_the_names_of_the_table() {
        let members = Members::new(&batch(vec![Arc::new(StringArray::from(vec!["1"]))]), None).unwrap();
        let refused =
            members.rows(&batch(vec![Arc::new(Int32Array::from(vec![1]))])).unwrap_err().to_string();
        assert!(refused.contains("column 'c0' of the table has integers"), "{refused}");
        let floats: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![1.0]));
        let refused = members.rows(&batch(vec![floats])).unwrap_err().to_string();
        assert!(refused.contains("'c0'") && refused.contains("Float64"), "{refused}");
        let two: Vec<ArrayRef> =
            vec![Arc::new(StringArray::from(vec!["1"])), Arc::new(Int32Array::from(vec![1]))];
        assert!(members.rows(&batch(two)).unwrap_err().to_string().contains("2 were named"));
    }
}
