//! Released items to files: written aside, flushed to disk, then renamed, so that a path holds all or nothing.

mod atomic;
mod encode;
mod instants;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;

use arrow_array::RecordBatch;

use atomic::{fill, folder_of, replace};
use encode::write_format;

use crate::{Error, Result};

const NO_FOLDER: &str = "its folder does not exist; create it first";

/// Formats that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Apache Parquet, compressed with Zstandard.
    Parquet,
    /// Comma separated values with a header line.
    Csv,
    /// One JSON object per line.
    NdJson,
    /// Arrow IPC file, also named Feather version 2.
    IpcFile,
    /// Arrow IPC stream.
    IpcStream,
}

/// Compression around a whole text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

/// Write a table to a file whose extension names the format: `.parquet`, `.csv`, `.ndjson`, `.jsonl`, `.arrow`,
/// `.feather`, `.ipc`, `.arrows`; the text formats also with `.gz` or `.zst`.
///
/// An existing file is replaced only once the new one is complete and on disk. Pipes and devices, which can
/// not be replaced, are written directly.
///
/// # Errors
/// [`Error::File`] for an unknown extension or when the system refuses; then the path is as it was before.
pub fn write_table(table: &RecordBatch, path: &Path) -> Result<()> {
    let (format, compression) = format_of(path)?;
    replace(path, |out| match compression {
        Compression::None => write_format(table, format, out),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            write_format(table, format, &mut encoder)?;
            encoder.finish().map(drop)
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(out, 3)?;
            write_format(table, format, &mut encoder)?;
            encoder.finish().map(drop)
        }
    })
}

/// Write a table to an open writer, for example the standard output.
///
/// # Errors
/// [`Error::File`] with `name` as its path.
pub fn write_table_to(
    table: &RecordBatch,
    format: OutputFormat,
    out: &mut (dyn Write + Send),
    name: &str,
) -> Result<()> {
    fill(out, |out| write_format(table, format, out)).map_err(|e| failed("write", Path::new(name), &e))
}

/// Write a text file, all or nothing as [`write_table`].
///
/// # Errors
/// [`Error::File`]; then the path is as it was before.
pub fn write_text_atomically(path: &Path, text: &str) -> Result<()> {
    replace(path, |out| out.write_all(text.as_bytes()))
}

/// Check that a table can be written to the path, before the work that makes it.
///
/// # Errors
/// [`Error::File`] for an unknown extension or a folder that does not exist.
pub fn check_table_path(path: &Path) -> Result<()> {
    format_of(path)?;
    if path.is_dir() {
        return Err(refused(path, "it is a directory; name a file in it"));
    }
    let folder = folder_of(path);
    if folder.is_dir() { Ok(()) } else { Err(refused(path, NO_FOLDER)) }
}

fn format_of(path: &Path) -> Result<(OutputFormat, Compression)> {
    // Otherwise: no name, and so no extension.
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let (stem, compression) = match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
        (Some(stem), _) => (stem, Compression::Gzip),
        (_, Some(stem)) => (stem, Compression::Zstd),
        _ => (name.as_str(), Compression::None),
    };
    match (stem.rsplit_once('.').map(|(_, extension)| extension), compression) {
        (Some("csv"), c) => Ok((OutputFormat::Csv, c)),
        (Some("ndjson" | "jsonl"), c) => Ok((OutputFormat::NdJson, c)),
        (Some("parquet" | "pq"), Compression::None) => Ok((OutputFormat::Parquet, Compression::None)),
        (Some("arrow" | "feather" | "ipc"), Compression::None) => {
            Ok((OutputFormat::IpcFile, Compression::None))
        }
        (Some("arrows"), Compression::None) => Ok((OutputFormat::IpcStream, Compression::None)),
        _ => Err(refused(
            path,
            "the name does not tell a format; use .parquet, .csv, .ndjson, .jsonl, .arrow, .arrows, .feather or \
             .ipc (.csv, .ndjson and .jsonl also with .gz or .zst)",
        )),
    }
}

fn refused(path: &Path, reason: &str) -> Error {
    Error::File { action: "write", path: path.to_owned(), reason: reason.to_owned() }
}

fn failed(action: &'static str, path: &Path, error: &io::Error) -> Error {
    Error::File { action, path: path.to_owned(), reason: error.to_string() }
}
