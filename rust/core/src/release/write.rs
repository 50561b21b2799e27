//! Released items to files: written aside, flushed to disk, then renamed, so that a path holds all or nothing.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as ParquetCompression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::{Error, Result};

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
    if folder.is_dir() { Ok(()) } else { Err(refused(path, "its folder does not exist; create it first")) }
}

fn format_of(path: &Path) -> Result<(OutputFormat, Compression)> {
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

fn write_format(table: &RecordBatch, format: OutputFormat, out: &mut (impl Write + Send)) -> io::Result<()> {
    match format {
        OutputFormat::Parquet => write_parquet(table, out).map_err(parquet_error),
        OutputFormat::Csv => {
            arrow_csv::WriterBuilder::new().with_header(true).build(out).write(table).map_err(arrow_error)
        }
        OutputFormat::NdJson => write_ndjson(table, out).map_err(arrow_error),
        OutputFormat::IpcFile => write_ipc_file(table, out).map_err(arrow_error),
        OutputFormat::IpcStream => write_ipc_stream(table, out).map_err(arrow_error),
    }
}

/// The file names this library as its writer; its statistics are those of the rows in it.
fn write_parquet(table: &RecordBatch, out: &mut (impl Write + Send)) -> Result<(), ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(ParquetCompression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(concat!("dpsel version ", env!("CARGO_PKG_VERSION")).into())
        .build();
    let mut writer = ArrowWriter::try_new(out, table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.close().map(drop)
}

fn write_ndjson(table: &RecordBatch, out: &mut impl Write) -> Result<(), ArrowError> {
    let mut writer = arrow_json::LineDelimitedWriter::new(out);
    writer.write(table)?;
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

/// Write beside `path` and rename; the file beside it vanishes on every error.
fn replace(path: &Path, write: impl FnOnce(&mut Out<&File>) -> io::Result<()>) -> Result<()> {
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let file = File::options().write(true).open(path).map_err(|e| failed("write", path, &e))?;
        return fill(&file, write).map_err(|e| failed("write", path, &e));
    }
    // A link is followed, so that it stays a link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.is_dir() {
        return Err(refused(path, "it is a directory; name a file in it"));
    }
    let aside = aside(&target).map_err(|e| failed("write", path, &e))?;
    fill(aside.as_file(), write)
        .and_then(|()| aside.as_file().sync_all())
        .map_err(|e| failed("write", path, &e))?;
    aside.persist(&target).map_err(|e| failed("rename", path, &e.error))?;
    // The rename itself is made durable where folders can be opened; elsewhere there is nothing to do.
    if let Ok(folder) = File::open(folder_of(&target)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A buffer over a writer that remembers its own error: encoders turn it into words.
type Out<W> = BufWriter<Noting<W>>;

struct Noting<W> {
    inner: W,
    error: Option<io::Error>,
}

impl<W: Write> Noting<W> {
    fn note<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.map_err(|error| {
            let same = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            self.error.get_or_insert(error);
            same
        })
    }
}

impl<W: Write> Write for Noting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.inner.write(bytes) {
            // Not a failure: the caller tries again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            outcome => self.note(outcome),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.inner.flush();
        self.note(outcome)
    }
}

fn fill<W: Write + Send>(inner: W, write: impl FnOnce(&mut Out<W>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, Noting { inner, error: None });
    let written = write(&mut out).and_then(|()| out.flush());
    match (written, out.get_mut().error.take()) {
        (Err(_), Some(error)) => Err(error),
        (written, _) => written,
    }
}

fn aside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dpsel-").suffix(".tmp");
    #[cfg(unix)]
    {
        // As for any new file, the umask takes away from this; a file that is replaced keeps its mode.
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(target).map_or(0o666, |m| m.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    builder.tempfile_in(folder_of(target))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn refused(path: &Path, reason: &str) -> Error {
    Error::File { action: "write", path: path.to_owned(), reason: reason.to_owned() }
}

fn failed(action: &'static str, path: &Path, error: &io::Error) -> Error {
    Error::File { action, path: path.to_owned(), reason: error.to_string() }
}

/// The system's error if there is one inside; an encoder's own words could hold data.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StructArray};
    use arrow_schema::{DataType, Field};

    fn table(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("item", column)]).unwrap()
    }

    fn ints() -> RecordBatch {
        table(Arc::new(Int64Array::from(vec![1, 2])))
    }

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn text_formats_are_as_documented() {
        let folder = tempfile::tempdir().unwrap();
        let (csv, json) = (folder.path().join("a.csv"), folder.path().join("a.ndjson"));
        write_table(&ints(), &csv).unwrap();
        write_table(&ints(), &json).unwrap();
        assert_eq!(fs::read_to_string(&csv).unwrap(), "item\n1\n2\n");
        assert_eq!(fs::read_to_string(&json).unwrap(), "{\"item\":1}\n{\"item\":2}\n");
        write_table(&ints().slice(0, 0), &csv).unwrap();
        assert_eq!(fs::read_to_string(&csv).unwrap(), "item\n");
        let mut out = Vec::new();
        write_table_to(&ints(), OutputFormat::Csv, &mut out, "stdout").unwrap();
        assert_eq!(out, b"item\n1\n2\n");
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write_text_atomically(&path, "old").unwrap();
        let inner = Field::new("x", DataType::Int64, true);
        let nested =
            StructArray::from(vec![(Arc::new(inner), Arc::new(Int64Array::from(vec![7])) as ArrayRef)]);
        assert!(matches!(write_table(&table(Arc::new(nested)), &path), Err(Error::File { .. })));
        assert_eq!(
            (names(folder.path()), fs::read_to_string(&path).unwrap()),
            (vec!["a.csv".into()], "old".into())
        );
        let failed = replace(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(failed.is_err());
        assert_eq!(
            (names(folder.path()), fs::read_to_string(&path).unwrap()),
            (vec!["a.csv".into()], "old".into())
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_device_gives_the_system_reason() {
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        for format in [OutputFormat::Csv, OutputFormat::NdJson, OutputFormat::Parquet, OutputFormat::IpcFile]
        {
            let error = write_table_to(&ints(), format, &mut full, "full").unwrap_err().to_string();
            assert!(error.contains("No space left"), "{format:?}: {error}");
        }
    }

    #[test]
    fn paths_are_checked_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_table_path(&folder.path().join("a.parquet")).is_ok());
        assert!(check_table_path(Path::new("a.csv.gz")).is_ok());
        for bad in ["a.xlsx", "a.parquet.gz", "none/a.csv"] {
            assert!(matches!(check_table_path(&folder.path().join(bad)), Err(Error::File { .. })), "{bad}");
        }
        assert!(check_table_path(folder.path()).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn modes_and_links_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.csv"), folder.path().join("link.csv"));
        write_text_atomically(&path, "old").unwrap();
        assert_ne!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o044,
            0,
            "readable as other new files are"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_text_atomically(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
