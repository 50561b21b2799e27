//! Paths and patterns to files, and names to formats.

use std::fs;
use std::path::{Path, PathBuf};

use super::reason::{io_failed, unreadable};
use crate::Result;
use crate::ingest::FileFormat;

/// The files that the paths and patterns name: each pattern's in sorted order, every file once.
///
/// A path that exists is itself, whatever its characters; otherwise `*`, `?`, `[...]` and `**` are patterns.
///
/// # Errors
/// [`Error::File`] for a pattern without a match, a missing file, a directory, or one that may not be read.
pub(super) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for path in paths {
        let matches = if is_pattern(path) { matches(path)? } else { vec![path.clone()] };
        for file in matches {
            check(&file)?;
            if seen.insert(file.clone()) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

fn is_pattern(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains(['*', '?', '[']) && !path.exists()
}

fn matches(pattern: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_str().ok_or_else(|| unreadable(pattern, "the pattern is not valid Unicode"))?;
    let found =
        glob::glob(text).map_err(|e| unreadable(pattern, format!("not a valid pattern: {}", e.msg)))?;
    let mut files = Vec::new();
    for entry in found {
        let path = entry.map_err(|e| io_failed(e.path(), e.error()))?;
        if !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(unreadable(pattern, "no file matches this pattern"));
    }
    Ok(files)
}

fn check(path: &Path) -> Result<()> {
    let metadata = fs::metadata(path).map_err(|e| io_failed(path, &e))?;
    if metadata.is_dir() {
        return Err(unreadable(
            path,
            "it is a directory; name its files with a pattern such as dir/*.parquet",
        ));
    }
    Ok(())
}

/// The format that a file's extension names; `.gz` and `.zst` after it do not matter.
///
/// # Errors
/// [`Error::File`] for other extensions.
pub(super) fn format_of(path: &Path) -> Result<FileFormat> {
    // Otherwise: no name, and so no extension.
    let mut name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    for compression in [".gz", ".zst"] {
        if let Some(stem) = name.strip_suffix(compression) {
            name = stem.to_owned();
        }
    }
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("parquet" | "pq") => Ok(FileFormat::Parquet),
        Some("csv") => Ok(FileFormat::Csv),
        Some("ndjson" | "jsonl") => Ok(FileFormat::NdJson),
        Some("arrow" | "arrows" | "feather" | "ipc") => Ok(FileFormat::Ipc),
        _ => Err(unreadable(
            path,
            "the name does not tell the format; use .parquet, .csv, .ndjson, .jsonl, .arrow, .arrows, .feather or \
             .ipc (text also with .gz or .zst), or pass the format",
        )),
    }
}
