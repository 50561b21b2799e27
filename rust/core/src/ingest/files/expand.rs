//! Paths and patterns to files, and names to formats.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::input::{Input, STANDARD_INPUT_NAME, is_standard_input};
use super::reason::{io_failed, unreadable};
use crate::ingest::source::{Dialect, FileFormat};
use crate::runtime::Control;
use crate::{Error, Result};

/// A file with its format, which is given or follows from the name.
pub(super) type NamedFile = (Input, FileFormat);

/// The files that a path or pattern names, without those that were seen before. Matches of a pattern are sorted.
///
/// An existing path names itself, whatever its characters. A folder stands for all files in it and below it, without
/// those whose name, or the name of a folder below it, starts with a dot or an underscore: tools keep marks of their own
/// there. A name such as `_year=2026` is none of them. Otherwise `*`, `?`, `[...]` and `**` form a pattern.
///
/// # Errors
/// [`Error::File`] for a pattern or folder without a file, a missing file, a file that may not be read, a file of
/// unknown format, or a pipe that was seen under another name.
pub(super) fn expand(
    path: &Path,
    format: Option<FileFormat>,
    seen: &mut Seen,
    control: &Control,
) -> Result<Vec<NamedFile>> {
    let matches = if is_standard_input(path) {
        vec![path.to_owned()]
    } else if path.is_dir() {
        contents(path)?
    } else if is_pattern(path) {
        matches(path)?
    } else {
        vec![path.to_owned()]
    };
    let mut files = Vec::new();
    for file in matches {
        if seen.paths.insert(place_of(&file)) {
            let input = Input::new(&file, control)?;
            seen.check_pipe(&input)?;
            let format = format.map_or_else(|| format_of(input.name()), Ok)?;
            files.push((input, format));
        }
    }
    Ok(files)
}

/// The path from the root on, so that `./a.csv` is `a.csv`. Links are not followed: each is a file of its own.
fn place_of(file: &Path) -> PathBuf {
    let named = if is_standard_input(file) { None } else { std::path::absolute(file).ok() };
    named.unwrap_or_else(|| file.to_owned())
}

/// The files and pipes that were named already.
#[derive(Default)]
pub(super) struct Seen {
    paths: HashSet<PathBuf>,
    pipes: HashSet<(u64, u64)>,
}

impl Seen {
    /// Refuses a pipe that was named before: two readers of one pipe would take each other's bytes.
    fn check_pipe(&mut self, input: &Input) -> Result<()> {
        match input.identity() {
            Some(identity) if !self.pipes.insert(identity) => Err(unreadable(
                input.name(),
                "it is a pipe that was named before, and a pipe can be read once; name it once",
            )),
            Some(_) | None => Ok(()),
        }
    }
}

/// The error for an element of a list, without the element: it may be a text and not a path.
pub(super) fn unquoted(error: Error, place: usize, count: usize) -> Error {
    let Error::File { path, reason, .. } = error else { return error };
    // The name of the standard input is not a path, so `exists` says nothing about it.
    let missing = path.as_os_str() != STANDARD_INPUT_NAME && !path.exists();
    Error::Element { place, count, missing, reason }
}

fn is_pattern(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains(['*', '?', '[']) && !path.exists()
}

/// The files of a folder.
fn contents(folder: &Path) -> Result<Vec<PathBuf>> {
    let text = folder.to_str().ok_or_else(|| unreadable(folder, "its name is not valid Unicode"))?;
    let all = Path::new(&glob::Pattern::escape(text)).join("**").join("*");
    let mut files = named_by(&all, folder)?;
    files.retain(|file| file.strip_prefix(folder).is_ok_and(|below| !below.iter().any(is_hidden)));
    if files.is_empty() { Err(unreadable(folder, "there is no file in this folder")) } else { Ok(files) }
}

fn is_hidden(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with('.') || (name.starts_with('_') && !name.contains('='))
}

fn matches(pattern: &Path) -> Result<Vec<PathBuf>> {
    let files = named_by(pattern, pattern)?;
    if files.is_empty() { Err(unreadable(pattern, "no file matches this pattern")) } else { Ok(files) }
}

/// The files that match a pattern, sorted. Errors name `shown`.
fn named_by(pattern: &Path, shown: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_str().ok_or_else(|| unreadable(shown, "the pattern is not valid Unicode"))?;
    let entries =
        glob::glob(text).map_err(|e| unreadable(shown, format!("not a valid pattern: {}", e.msg)))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| io_failed(e.path(), e.error()))?;
        if !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
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
        Some("csv") => Ok(FileFormat::Csv(Dialect::COMMAS)),
        Some("tsv" | "tab") => Ok(FileFormat::Csv(Dialect::TABS)),
        Some("ndjson" | "jsonl") => Ok(FileFormat::NdJson),
        Some("arrow" | "arrows" | "feather" | "ipc") => Ok(FileFormat::Ipc),
        _ => Err(unreadable(
            path,
            "the name does not tell the format; use .parquet, .csv, .tsv, .ndjson, .jsonl, .arrow, .arrows, .feather \
             or .ipc (text also with .gz or .zst), or pass file_format=",
        )),
    }
}
