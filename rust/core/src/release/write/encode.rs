//! A table in one of the formats. An encoder's message could hold data, so only errors of the system are passed on.

use std::io::{self, Write};

use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;
use dpsel_rows::ingest::csv_field;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::format::OutputFormat;
use super::instants::{as_text, known_to_parquet};

/// Write a whole table.
///
/// # Errors
/// The writer's own error, or an error that the format cannot hold the table.
pub(super) fn write_format(
    table: &RecordBatch,
    format: OutputFormat,
    out: &mut (impl Write + Send),
) -> io::Result<()> {
    match format {
        OutputFormat::Parquet => write_parquet(table, out).map_err(parquet_error),
        OutputFormat::Csv => write_csv(table, out).map_err(arrow_error),
        OutputFormat::NdJson => write_ndjson(table, out).map_err(arrow_error),
        OutputFormat::IpcFile => write_ipc_file(table, out).map_err(arrow_error),
        OutputFormat::IpcStream => write_ipc_stream(table, out).map_err(arrow_error),
    }
}

/// Parquet names this library as the writer. The statistics in the file cover the released rows alone.
///
/// Dates and times have types that Parquet knows: other readers would take seconds for bare integers.
fn write_parquet(table: &RecordBatch, out: &mut (impl Write + Send)) -> Result<(), ParquetError> {
    let table = &known_to_parquet(table)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(concat!("dpsel version ", env!("CARGO_PKG_VERSION")).into())
        .build();
    let mut writer = ArrowWriter::try_new(out, table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.close().map(drop)
}

/// A line of names, and a line for each row.
fn write_csv(table: &RecordBatch, out: &mut impl Write) -> Result<(), ArrowError> {
    let table = as_text(table)?;
    if table.schema_ref().fields().iter().any(|field| field.data_type().is_nested()) {
        return Err(ArrowError::CsvError("a field of CSV holds one value".into()));
    }
    let options = FormatOptions::default();
    let columns: Vec<ArrayFormatter<'_>> = table
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options))
        .collect::<Result<_, _>>()?;
    let names: Vec<String> = table.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
    write_line(names.iter().map(|name| Some(name.as_str())), out)?;
    let mut cells = vec![String::new(); columns.len()];
    for row in 0..table.num_rows() {
        for (cell, column) in cells.iter_mut().zip(&columns) {
            cell.clear();
            column.value(row).write(cell)?;
        }
        let valid = table.columns().iter().map(|column| column.is_valid(row));
        write_line(cells.iter().zip(valid).map(|(cell, valid)| valid.then_some(cell.as_str())), out)?;
    }
    Ok(())
}

/// Write fields with commas between them. A missing value is an empty field; an empty text has quotes.
fn write_line<'a>(
    fields: impl Iterator<Item = Option<&'a str>>,
    out: &mut impl Write,
) -> Result<(), ArrowError> {
    for (at, field) in fields.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        if let Some(text) = field {
            let written = csv_field(text).map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
            out.write_all(written.as_bytes())?;
        }
    }
    Ok(out.write_all(b"\n")?)
}

fn write_ndjson(table: &RecordBatch, out: &mut impl Write) -> Result<(), ArrowError> {
    let mut writer = arrow_json::LineDelimitedWriter::new(out);
    writer.write(&as_text(table)?)?;
    writer.finish()
}

fn ipc_options() -> Result<IpcWriteOptions, ArrowError> {
    IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))
}

fn write_ipc_file(table: &RecordBatch, out: &mut impl Write) -> Result<(), ArrowError> {
    let mut writer = FileWriter::try_new_with_options(out, &table.schema(), ipc_options()?)?;
    writer.write(table)?;
    writer.finish()
}

fn write_ipc_stream(table: &RecordBatch, out: &mut impl Write) -> Result<(), ArrowError> {
    let mut writer = StreamWriter::try_new_with_options(out, &table.schema(), ipc_options()?)?;
    writer.write(table)?;
    writer.finish()
}

/// The system's error, if there is one inside. An encoder's own message is replaced, because it could hold data.
fn arrow_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, inner) => inner,
        ArrowError::ExternalError(inner) => from_inner(inner),
        _ => io::Error::other("the table cannot be encoded in this format"),
    }
}

fn parquet_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => from_inner(inner),
        _ => io::Error::other("the table cannot be encoded as Parquet"),
    }
}

fn from_inner(inner: Box<dyn std::error::Error + Send + Sync>) -> io::Error {
    match inner.downcast::<io::Error>() {
        Ok(error) => *error,
        Err(_) => io::Error::other("the table cannot be encoded in this format"),
    }
}
