//! Released items to files, which hold all of them or nothing.

use std::io::Write;
use std::path::Path;

use arrow_array::RecordBatch;

use super::atomic::{fill, folder_of, replace};
use super::encode::write_format;
use super::format::{Compression, OutputFormat, format_of};
use super::refusal::{NO_FOLDER, failed, refused};
use crate::Result;

/// Write a table to a file whose extension names the format: `.parquet`, `.csv`, `.ndjson`, `.jsonl`, `.arrow`,
/// `.feather`, `.ipc`, `.arrows`; the text formats also with `.gz` or `.zst`.
///
/// An existing file is replaced only when the new one is complete and on disk. Pipes and devices cannot be replaced, so
/// they are written directly.
///
/// # Errors
/// [`crate::Error::File`] for an unknown extension or when the system refuses; then the path is as it was before.
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
/// [`crate::Error::File`] with `name` as its path.
pub fn write_table_to(
    table: &RecordBatch,
    format: OutputFormat,
    out: &mut (dyn Write + Send),
    name: &str,
) -> Result<()> {
    fill(out, |out| write_format(table, format, out)).map_err(|e| failed("write", Path::new(name), &e))
}

/// Write a text file, whole or not at all, as [`write_table`] does.
///
/// # Errors
/// [`crate::Error::File`]; then the path is as it was before.
pub fn write_text_atomically(path: &Path, text: &str) -> Result<()> {
    replace(path, |out| out.write_all(text.as_bytes()))
}

/// Check that a table can be written to the path, before the work that makes it.
///
/// # Errors
/// [`crate::Error::File`] for an unknown extension or a folder that does not exist.
pub fn check_table_path(path: &Path) -> Result<()> {
    format_of(path)?;
    if path.is_dir() {
        return Err(refused(path, "it is a directory; name a file in it"));
    }
    let folder = folder_of(path);
    if folder.is_dir() { Ok(()) } else { Err(refused(path, NO_FOLDER)) }
}
