//! Public tables beside the data, the list of a top-k or the ranks of a greedy order, in the types of the data.
//!
//! Items are equal only if they are of one kind, so a list of texts beside a column of integers would name nothing, and
//! nobody would be told. An item is cast where that is exact: where casting it back gives the same item again. So the text
//! `12` is the integer 12, and `012` is not; the text `2024-01-31` is a date. What is not of the column's kind and is no
//! text is refused: a number may be written in many ways.
//!
//! The answer of a top-k has the declared types of the data. Where the data declares none, the types of its values depend on
//! rows that are not released, so the items come back as they were given ([`Given`]).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, new_empty_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ord::cmp::not_distinct;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::Source;
use super::columns::key_kind;
use super::plan::Plan;
use super::schema::with_rows;
use crate::ingest::Columns;
use crate::random::KeyKind;
use crate::{Error, Result};

/// The items that a top-k may pick: batches with the columns of the data, in which users mean nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicList {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// The list's name in errors.
const NAME: &str = "domain=";

impl PublicList {
    /// Batches of one schema.
    #[must_use]
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// The list beside a table with this schema, as rows to be read.
    ///
    /// # Errors
    /// [`Error::Schema`] if the items are not of the types of the table's and cannot be cast exactly.
    pub(crate) fn beside(&self, schema: &Schema, columns: &Columns) -> Result<Source> {
        Ok(self.in_types_of(&Plan::new(schema, columns, super::stream::NAME)?.0, columns)?.0)
    }

    /// The list in the types of the data, as rows to be read, and the types in which its items come back.
    pub(super) fn in_types_of(&self, data: &Plan, columns: &Columns) -> Result<(Source, Given)> {
        let columns = Columns { ngrams: None, ..columns.clone() };
        let empty = RecordBatch::new_empty(SchemaRef::clone(&self.schema));
        let targets = Target::of(&self.batches, data, &columns, NAME)?;
        let schema = cast(&empty, &targets, &columns, NAME, 0)?.schema();
        let (_, positions) = Plan::new(&self.schema, &columns, NAME)?;
        let found = positions.items.iter().zip(data.found());
        let given = Given(
            found.map(|(at, found)| found.then(|| self.schema.field(*at).data_type().clone())).collect(),
        );
        let mut batches = Vec::with_capacity(self.batches.len());
        let mut rows = 0;
        for batch in self.batches.iter().filter(|batch| batch.num_rows() > 0) {
            batches.push(cast(batch, &targets, &columns, NAME, rows)?);
            rows += batch.num_rows();
        }
        let batches = batches.into_iter().map(Ok);
        Ok((Source::Stream(Box::new(RecordBatchIterator::new(batches, schema))), given))
    }
}

/// Of each item column, the type in which items of a public list come back, if it is not the one that was read.
#[derive(Debug, Default)]
pub(crate) struct Given(Vec<Option<DataType>>);

impl Given {
    /// Released items in these types. They were cast from them exactly, so this is exact as well.
    ///
    /// # Errors
    /// [`Error::Internal`] if an item has no value there.
    pub(crate) fn restore(&self, items: RecordBatch) -> Result<RecordBatch> {
        const FAILED: Error = Error::Internal("released items cannot be given back as they were listed");
        if self.0.iter().all(Option::is_none) {
            return Ok(items);
        }
        let (schema, mut arrays, rows) = (items.schema(), items.columns().to_vec(), items.num_rows());
        let mut fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
        for ((array, field), given) in arrays.iter_mut().zip(&mut fields).zip(&self.0) {
            let Some(given) = given.as_ref().map(plain) else { continue };
            let options = CastOptions { safe: false, ..CastOptions::default() };
            *array = cast_with_options(array, given, &options).map_err(|_| FAILED)?;
            *field = field.clone().with_data_type(given.clone());
        }
        with_rows(Arc::new(Schema::new(fields)), arrays, rows)
    }
}

/// The type of the values of a dictionary, which is not one any more in a release.
fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// What the items of one column of a public table become.
pub(super) struct Target {
    item: String,
    data_type: DataType,
    /// Whether the data declares no type there.
    found: bool,
}

impl Target {
    /// The types of the data, for each item column. Widths that were found out from values are none that items would have
    /// to fit, because an unreleased row may have chosen them: there the list alone chooses a type of 64 bits.
    pub(super) fn of(
        batches: &[RecordBatch],
        data: &Plan,
        columns: &Columns,
        name: &str,
    ) -> Result<Vec<Self>> {
        let mut targets: Vec<Self> = data
            .items()
            .zip(data.found())
            .map(|((item, data_type), found)| Self { item: item.into(), data_type: data_type.clone(), found })
            .collect();
        for (place, target) in targets.iter_mut().enumerate() {
            if !target.found || key_kind(&target.data_type) != Some(KeyKind::Integer) {
                continue;
            }
            let mut listed = Vec::with_capacity(batches.len());
            for batch in batches {
                let (_, positions) = Plan::new(&batch.schema(), columns, name)?;
                listed.extend(positions.items.get(place).map(|&at| batch.column(at)));
            }
            let fits = |to: &DataType| listed.iter().all(|column| exactly(column, to).is_ok());
            let is_large = !fits(&DataType::Int64) && fits(&DataType::UInt64);
            target.data_type = if is_large { DataType::UInt64 } else { DataType::Int64 };
        }
        Ok(targets)
    }

    /// How errors call the values of the data.
    fn words(&self) -> String {
        if self.found { kind_words(&self.data_type).into() } else { words(&self.data_type) }
    }
}

/// A batch of a public table with its items in the types of the data; `first` is the number of rows before it.
///
/// # Errors
/// [`Error::Schema`] naming column, types and position.
pub(super) fn cast(
    batch: &RecordBatch,
    targets: &[Target],
    columns: &Columns,
    name: &str,
    first: usize,
) -> Result<RecordBatch> {
    let (_, positions) = Plan::new(&batch.schema(), columns, name)?;
    let mut arrays = batch.columns().to_vec();
    for (at, target) in positions.items.iter().zip(targets) {
        let Target { item, data_type, found } = target;
        let refused =
            |what: String| Error::Schema { what: format!("{name} {what}"), fix: fix(name, data_type) };
        if *found && key_kind(arrays[*at].data_type()) == key_kind(data_type) {
            continue;
        }
        arrays[*at] = exactly(&arrays[*at], data_type).map_err(|failure| match failure {
            Failure::Type => refused(format!(
                "has {} for column '{item}', but the data has {} there, so none of them could be found",
                words(batch.column(*at).data_type()),
                target.words(),
            )),
            Failure::Item(row) => refused(format!(
                "has an item at position {} that column '{item}' of the data, which has {}, cannot hold",
                first + row,
                target.words(),
            )),
        })?;
    }
    let fields = batch
        .schema()
        .fields()
        .iter()
        .zip(&arrays)
        .map(|(field, array)| Field::new(field.name(), array.data_type().clone(), field.is_nullable()))
        .collect::<Vec<_>>();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|_| Error::Internal("the columns of a public table do not fit together"))
}

/// Why a column cannot be cast.
enum Failure {
    /// No value of the type has a value of the other.
    Type,
    /// The value in this row has none.
    Item(usize),
}

/// The same values in another type, if that is exact.
fn exactly(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    let from = column.data_type();
    let (Some(ours), Some(theirs)) = (key_kind(from), key_kind(to)) else { return Err(Failure::Type) };
    // The null type has no values, so every list names all there are.
    if from == to || to == &DataType::Null {
        return Ok(ArrayRef::clone(column));
    }
    if column.is_empty() {
        return Ok(new_empty_array(to));
    }
    if ours != theirs && !is_written(ours, theirs) {
        return Err(Failure::Type);
    }
    let options = CastOptions { safe: true, ..CastOptions::default() };
    // Its keys are days, but Arrow writes and reads its milliseconds.
    if ours == KeyKind::Text && to == &DataType::Date64 {
        return cast_with_options(&exactly(column, &DataType::Date32)?, to, &options)
            .map_err(|_| Failure::Type);
    }
    let there = cast_with_options(column, to, &options).map_err(|_| Failure::Type)?;
    let back = cast_with_options(&there, from, &options).map_err(|_| Failure::Type)?;
    let same = not_distinct(&back, column).map_err(|_| Failure::Type)?;
    match same.values().iter().position(|same| !same) {
        Some(row) => Err(Failure::Item(row)),
        None => Ok(there),
    }
}

/// Whether values of the second kind have one text each that stands for them.
fn is_written(from: KeyKind, to: KeyKind) -> bool {
    let has_text = match to {
        KeyKind::Integer | KeyKind::Boolean | KeyKind::Date | KeyKind::Timestamp | KeyKind::Instant => true,
        KeyKind::Text | KeyKind::Binary | KeyKind::Composite => false,
    };
    from == KeyKind::Text && has_text
}

fn words(data_type: &DataType) -> String {
    format!("{} ({data_type})", kind_words(data_type))
}

fn kind_words(data_type: &DataType) -> &'static str {
    match key_kind(data_type) {
        Some(KeyKind::Integer) => "integers",
        Some(KeyKind::Boolean) => "booleans",
        Some(KeyKind::Date) => "dates",
        Some(KeyKind::Timestamp) => "timestamps without a time zone",
        Some(KeyKind::Instant) => "timestamps with a time zone",
        Some(KeyKind::Text) => "text",
        Some(KeyKind::Binary) => "bytes",
        Some(KeyKind::Composite) | None => "other values",
    }
}

fn fix(name: &str, data_type: &DataType) -> String {
    let form = match key_kind(data_type) {
        Some(KeyKind::Integer) => "integers in its range, or as text in plain decimal (12, not 012)",
        Some(KeyKind::Boolean) => "True and False, or as the text true and false",
        Some(KeyKind::Date) => "dates, or as text like 2024-01-31",
        Some(KeyKind::Timestamp) => "datetimes without a time zone, or as text like 2024-01-31T12:00:00",
        Some(KeyKind::Instant) => {
            "datetimes with a time zone, or as text with the offset of the column's zone, like 2024-01-31T12:00:00Z in UTC"
        }
        Some(KeyKind::Text) => {
            "text, in the form that they have in the data (in CSV files all items are text)"
        }
        Some(KeyKind::Binary) => "bytes",
        Some(KeyKind::Composite) | None => "values of its type",
    };
    format!("give the items of {name} as {form}")
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BooleanArray, Date32Array, Date64Array, FixedSizeBinaryArray, Int16Array, Int64Array,
        LargeBinaryArray, LargeStringArray, StringViewArray, TimestampMicrosecondArray, TimestampSecondArray,
        UInt8Array,
    };

    use super::*;

    fn texts(values: &[&str]) -> ArrayRef {
        Arc::new(LargeStringArray::from(values.to_vec()))
    }

    fn listed(items: ArrayRef, data: &DataType) -> Result<RecordBatch> {
        let users: ArrayRef = Arc::new(Int64Array::from(vec![0; items.len()]));
        let list = RecordBatch::try_from_iter([("user", users), ("item", items)]).unwrap();
        let columns = Columns { user: "user".into(), items: vec!["item".into()], ngrams: None };
        let user = Field::new("user", DataType::Int64, false);
        let schema = Schema::new(vec![user, Field::new("item", data.clone(), true)]);
        let made = PublicList::new(list.schema(), vec![list]).beside(&schema, &columns)?;
        let Source::Stream(mut reader) = made else { panic!("a list is a stream") };
        Ok(reader.next().unwrap().unwrap())
    }

    fn cast_to(items: ArrayRef, expected: &ArrayRef) {
        let data = expected.data_type().clone();
        assert_eq!(listed(items, &data).unwrap().column(1), expected);
    }

    #[test]
    fn what_is_exact_is_cast() {
        let ints: ArrayRef = Arc::new(Int64Array::from(vec![12, -3, 0]));
        cast_to(texts(&["12", "-3", "0"]), &ints);
        cast_to(Arc::clone(&ints), &(Arc::new(Int16Array::from(vec![12, -3, 0])) as ArrayRef));
        cast_to(texts(&["true", "false"]), &(Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef));
        let days: ArrayRef = Arc::new(Date32Array::from(vec![19_753, -1]));
        cast_to(texts(&["2024-01-31", "1969-12-31"]), &days);
        let midnights: ArrayRef = Arc::new(Date64Array::from(vec![19_753 * 86_400_000, -86_400_000]));
        cast_to(texts(&["2024-01-31", "1969-12-31"]), &midnights);
        cast_to(days, &midnights);
        let naive: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1_500_000]));
        cast_to(texts(&["1970-01-01T00:00:01.500"]), &naive);
        let instant: ArrayRef = Arc::new(TimestampSecondArray::from(vec![60]).with_timezone("UTC"));
        cast_to(texts(&["1970-01-01T00:01:00Z"]), &instant);
        cast_to(texts(&["12", "a"]), &(Arc::new(StringViewArray::from(vec!["12", "a"])) as ArrayRef));
        let bytes: ArrayRef = Arc::new(LargeBinaryArray::from(vec![&b"abc"[..]]));
        let fixed = FixedSizeBinaryArray::try_from_iter([b"abc"].into_iter()).unwrap();
        cast_to(bytes, &(Arc::new(fixed) as ArrayRef));
    }

    #[test]
    fn what_is_not_exact_is_refused_by_position() {
        let naive = DataType::Timestamp(arrow_schema::TimeUnit::Second, None);
        for (text, data) in [
            ("012", DataType::Int64),
            ("+5", DataType::Int64),
            ("-0", DataType::Int64),
            (" 5", DataType::Int64),
            ("5.0", DataType::Int64),
            ("1e3", DataType::Int64),
            ("256", DataType::UInt8),
            ("9223372036854775808", DataType::Int64),
            ("", DataType::Int32),
            ("yes", DataType::Boolean),
            ("31.01.2024", DataType::Date32),
            ("2024-1-31", DataType::Date32),
            ("2024-02-30", DataType::Date32),
            ("2024-02-30", DataType::Date64),
            ("2024-01-31T12:00:00", DataType::Date64),
            ("2024-01-31T00:00:00", DataType::Date64),
            ("1970-01-01T00:00:00.5", naive.clone()),
            ("1970-01-01 00:00:00", naive),
        ] {
            let refused = listed(texts(&["1", text][usize::from(data != DataType::Int64)..]), &data);
            let position = usize::from(data == DataType::Int64);
            let Err(Error::Schema { what, .. }) = refused else { panic!("{text} became {data}") };
            assert!(what.contains(&format!("domain= has an item at position {position} ")), "{what}");
        }
        let Err(Error::Schema { what, .. }) =
            listed(Arc::new(Int64Array::from(vec![255, 256])), &DataType::UInt8)
        else {
            panic!("256 became a byte")
        };
        assert!(what.contains("at position 1 that column 'item'"), "{what}");
        assert!(listed(Arc::new(UInt8Array::from(vec![255])), &DataType::Int8).is_err());
    }

    #[test]
    fn what_would_be_guessed_is_refused_by_its_type() {
        let ints: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let days: ArrayRef = Arc::new(Date32Array::from(vec![1]));
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
        for (items, data) in [
            (Arc::clone(&ints), DataType::Utf8),
            (Arc::clone(&ints), DataType::Boolean),
            (Arc::clone(&ints), DataType::Date32),
            (Arc::clone(&flags), DataType::Int64),
            (Arc::clone(&days), DataType::Utf8),
            (Arc::clone(&days), DataType::Timestamp(arrow_schema::TimeUnit::Second, None)),
            (texts(&["a"]), DataType::Binary),
        ] {
            let Err(Error::Schema { what, .. }) = listed(items, &data) else { panic!("it became {data}") };
            assert!(what.contains("so none of them could be found"), "{what}");
        }
        // Nobody can hold anything there.
        assert_eq!(listed(Arc::clone(&ints), &DataType::Null).unwrap().column(1), &ints);
    }

    proptest::proptest! {
        #[test]
        fn texts_become_the_integers_that_print_like_them(text in "[-+ ]?[0-9]{1,20}", number: i64) {
            let printed = number.to_string();
            let made = listed(texts(&[&printed]), &DataType::Int64).unwrap();
            let expected: ArrayRef = Arc::new(Int64Array::from(vec![number]));
            proptest::prop_assert_eq!(made.column(1), &expected);
            let made = listed(texts(&[&text]), &DataType::Int64);
            let canonical = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
            proptest::prop_assert_eq!(made.is_ok(), canonical);
        }
    }
}
