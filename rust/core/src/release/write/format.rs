//! Formats of output files, and the file names that ask for them.

use std::path::Path;

use dpsel_exact::Result;

use super::refusal::refused;

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
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// The compression that the end of a file's name says.
pub(super) fn compression_of(path: &Path) -> Compression {
    match path.extension().map(std::ffi::OsStr::to_ascii_lowercase) {
        Some(extension) if extension == "gz" => Compression::Gzip,
        Some(extension) if extension == "zst" => Compression::Zstd,
        _ => Compression::None,
    }
}

/// The format and compression that a file's extensions name.
///
/// # Errors
/// [`dpsel_exact::Error::File`] for other extensions.
pub(super) fn format_of(path: &Path) -> Result<(OutputFormat, Compression)> {
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
