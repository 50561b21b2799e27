//! Released items to files, which hold all of them or nothing.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use arrow_array::RecordBatch;
use dpsel_exact::Result;

use super::atomic::{create, fill, folder_of, replace};
use super::encode::write_format;
use super::format::{Compression, OutputFormat, compression_of, format_of};
use super::refusal::{NO_FOLDER, failed, refused};

/// Write a table to a file whose extension names the format: `.parquet`, `.csv`, `.ndjson`, `.jsonl`, `.arrow`,
/// `.feather`, `.ipc`, `.arrows`; the text formats also with `.gz` or `.zst`.
///
/// An existing file is replaced only when the new one is complete and on disk. Pipes and devices cannot be replaced, so
/// they are written directly.
///
/// # Errors
/// [`dpsel_exact::Error::File`] for an unknown extension or when the system refuses; then the path is as it was before.
pub fn write_table(table: &RecordBatch, path: &Path) -> Result<()> {
    let (format, compression) = format_of(path)?;
    replace(path, |out| compressed(compression, out, |mut out| write_format(table, format, &mut out)))
}

/// Write through the compression of a file.
fn compressed<E: From<io::Error>>(
    compression: Compression,
    out: &mut (dyn Write + Send),
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
) -> Result<(), E> {
    match compression {
        Compression::None => write(out),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            write(&mut encoder)?;
            Ok(encoder.finish().map(drop)?)
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(out, 3)?;
            write(&mut encoder)?;
            Ok(encoder.finish().map(drop)?)
        }
    }
}

/// Write rows of text to a new file, compressed if its name says so. After an error a part of it may stand there.
///
/// # Errors
/// Those of `write`; [`dpsel_exact::Error::File`] with the name `shown` when the system refuses.
pub fn write_rows(
    path: &Path,
    shown: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    let failed = |error: &io::Error| failed("write", shown, error);
    let file = File::create(path).map_err(|e| failed(&e))?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    compressed(compression_of(path), &mut out, |out| write(out).map_err(Unwritten::Ours)).map_err(
        |error| match error {
            Unwritten::Ours(error) => error,
            Unwritten::System(error) => failed(&error),
        },
    )?;
    let file = out.into_inner().map_err(|e| failed(e.error()))?;
    file.sync_all().map_err(|e| failed(&e))
}

/// Why rows are not written.
enum Unwritten {
    Ours(dpsel_exact::Error),
    System(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Write a table to an open writer, for example the standard output.
///
/// # Errors
/// [`dpsel_exact::Error::File`] with `name` as its path.
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
/// [`dpsel_exact::Error::File`]; then the path is as it was before.
pub fn write_text_atomically(path: &Path, text: &str) -> Result<()> {
    replace(path, |out| out.write_all(text.as_bytes()))
}

/// Write a text file, whole and for its owner alone, if there is none: false if there is one. Of several processes that
/// do so at once, one writes it.
///
/// # Errors
/// [`dpsel_exact::Error::File`].
pub fn create_text(path: &Path, text: &str) -> Result<bool> {
    create(path, |out| out.write_all(text.as_bytes()))
}

/// Check that a table can be written to the path, before the work that makes it.
///
/// # Errors
/// [`dpsel_exact::Error::File`] for an unknown extension or a folder that does not exist.
pub fn check_table_path(path: &Path) -> Result<()> {
    format_of(path)?;
    if path.is_dir() {
        return Err(refused(path, "it is a directory; name a file in it"));
    }
    let folder = folder_of(path);
    if folder.is_dir() { Ok(()) } else { Err(refused(path, NO_FOLDER)) }
}
