//! INT96 timestamps: a Julian day and the nanoseconds in it. Parquet has deprecated them; Spark writes them by default.
//!
//! The decoder converts them to 64-bit counts of a time unit. It silently takes values outside the range modulo 2^64
//! and drops fractions of the unit, so different times become equal. Here the time unit fits the usual values, and
//! every value is checked. A file with a value that is not exactly such a count is refused.
//!
//! The time unit depends on the schema of the file alone. If it depended on values, one unreleased row could change the
//! type of the release.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};
use dpsel_exact::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::SchemaDescriptor;

use crate::ingest::columns::{element_type, scale, value_type};

/// The key under which Arrow writers store their schema, including time units.
const ARROW_SCHEMA: &str = "ARROW:schema";
/// Values checked together.
const BATCH: usize = 32 * 1024;
/// The Julian day of 1970-01-01.
const EPOCH: i128 = 2_440_588;
/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// A column of INT96, and the time unit of its counts.
#[derive(Debug)]
pub(super) struct Int96Column {
    leaf: usize,
    name: String,
    /// Nanoseconds in one unit.
    unit: i128,
}

/// The same file with INT96 in microseconds, unless an Arrow schema in the file states other time units.
///
/// The decoder's default is nanoseconds, which end in 2262. Many tables write 9999-12-31 for "never".
///
/// # Errors
/// Errors of the reader.
pub(super) fn in_exact_units(footer: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let pairs = footer.metadata().file_metadata().key_value_metadata();
    let named = pairs.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == ARROW_SCHEMA));
    let leaves = leaves(footer.parquet_schema());
    if named || leaves.is_empty() {
        return Ok(footer);
    }
    let mut fields: Vec<FieldRef> = footer.schema().fields().iter().cloned().collect();
    for leaf in leaves {
        if let Some(field) = fields.get_mut(footer.parquet_schema().get_column_root_idx(leaf)) {
            *field = in_microseconds(field);
        }
    }
    let schema = Schema::new_with_metadata(fields, footer.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(footer.metadata()), options)
}

fn leaves(schema: &SchemaDescriptor) -> Vec<usize> {
    let columns = schema.columns().iter().enumerate();
    columns.filter(|(_, column)| column.physical_type() == Physical::INT96).map(|(leaf, _)| leaf).collect()
}

fn in_microseconds(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        DataType::List(element) => DataType::List(in_microseconds(element)),
        _ => return FieldRef::clone(field),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

/// The needed columns of type INT96.
pub(super) fn columns(metadata: &ArrowReaderMetadata, mask: &ProjectionMask) -> Vec<Int96Column> {
    let schema = metadata.parquet_schema();
    let read = leaves(schema).into_iter().filter(|leaf| mask.leaf_included(*leaf));
    read.filter_map(|leaf| {
        let field = metadata.schema().fields().get(schema.get_column_root_idx(leaf))?;
        let plain = value_type(field.data_type());
        let unit = scale(element_type(plain).map_or(plain, value_type));
        Some(Int96Column { leaf, name: field.name().clone(), unit: unit.into() })
    })
    .collect()
}

impl Int96Column {
    /// Check every value of a row group.
    ///
    /// # Errors
    /// [`Error::Data`] for a value that is not a whole 64-bit count of the time unit; errors of the reader.
    pub(super) fn check<R: ChunkReader + 'static>(
        &self,
        bytes: &Arc<R>,
        metadata: &ArrowReaderMetadata,
        group: usize,
        source: &str,
        failed: impl Fn(ParquetError) -> Error,
    ) -> Result<()> {
        let mut values = self.reader(bytes, metadata, group).map_err(&failed)?;
        let (mut definitions, mut repetitions, mut read) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            definitions.clear();
            repetitions.clear();
            read.clear();
            let levels = (Some(&mut definitions), Some(&mut repetitions));
            let (rows, ..) = values.read_records(BATCH, levels.0, levels.1, &mut read).map_err(&failed)?;
            if !read.iter().all(|value| self.holds(value)) {
                return Err(self.inexact(group, source));
            }
            if rows == 0 {
                return Ok(());
            }
        }
    }

    fn reader<R: ChunkReader + 'static>(
        &self,
        bytes: &Arc<R>,
        metadata: &ArrowReaderMetadata,
        group: usize,
    ) -> Result<ColumnReaderImpl<Int96Type>, ParquetError> {
        let group = metadata.metadata().row_group(group);
        let chunk = group.column(self.leaf);
        let rows = usize::try_from(group.num_rows())?;
        let pages = SerializedPageReader::new(Arc::clone(bytes), chunk, rows, None)?;
        Ok(get_typed_column_reader(get_column_reader(chunk.column_descr_ptr(), Box::new(pages))))
    }

    /// Whether the value is a whole count of the time unit that fits 64 bits. The words have the order of the decoder.
    fn holds(&self, value: &Int96) -> bool {
        let [low, high, day] = *value.data() else { return false };
        let nanoseconds = (i128::from(high) << u32::BITS) + i128::from(low);
        let time = (i128::from(day.cast_signed()) - EPOCH) * DAY + nanoseconds;
        nanoseconds < DAY && time % self.unit == 0 && i64::try_from(time / self.unit).is_ok()
    }

    fn inexact(&self, group: usize, source: &str) -> Error {
        let name = &self.name;
        Error::Data {
            source_name: source.to_owned(),
            what: format!(
                "row group {group} of column '{name}' holds an INT96 timestamp that is outside the range or finer than the \
                 unit it is read in"
            ),
            fix: "write the column as TIMESTAMP_MICROS, in Spark with spark.sql.parquet.outputTimestampType",
        }
    }
}
