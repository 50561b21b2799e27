//! A table in one of the formats. An encoder's message could hold data, so only errors of the system are passed on.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::format::OutputFormat;
use super::instants::as_text;

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
fn write_parquet(table: &RecordBatch, out: &mut (impl Write + Send)) -> Result<(), ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(concat!("dpsel version ", env!("CARGO_PKG_VERSION")).into())
        .build();
    let mut writer = ArrowWriter::try_new(out, table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.close().map(drop)
}

fn write_csv(table: &RecordBatch, out: &mut impl Write) -> Result<(), ArrowError> {
    arrow_csv::WriterBuilder::new().with_header(true).build(out).write(&as_text(table)?)
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
