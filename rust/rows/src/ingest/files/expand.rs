//! Paths and patterns to files, and names to formats.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::mem;
use std::path::{Component, Path, PathBuf};

use dpsel_exact::error::STANDARD_INPUT_NAME;
use dpsel_exact::{Error, Result};

use super::input::{Input, is_standard_input};
use super::magic;
use super::reason::{io_failed, unreadable};
use super::tables::Tables;
use crate::ingest::source::{Dialect, FileFormat};
use crate::runtime::Control;

/// A file with its format, which is given or follows from the name.
pub(super) type NamedFile = (Input, FileFormat);

/// The files that a path or pattern names, without those that were seen before. Matches of a pattern are sorted.
///
/// An existing path names itself, whatever its characters. A folder stands for all files in it and below it, without
/// those whose name, or the name of a folder below it, starts with a dot or an underscore: tools keep marks of their own
/// there. A name such as `_year=2026` is none of them. Otherwise `*`, `?`, `[...]` and `**` form a pattern. A folder that
/// matches a pattern stands for its files, too.
///
/// # Errors
/// [`Error::File`] for a pattern or folder without a file, a missing file, a file that may not be read, a file of
/// unknown format, a pipe that was seen under another name or is in a folder, a mark of a tool that a pattern meets, and
/// files of [`Tables`].
pub(super) fn expand(
    path: &Path,
    format: Option<FileFormat>,
    seen: &mut Seen,
    control: &Control,
) -> Result<Vec<NamedFile>> {
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(unreadable(
            path,
            "it holds a NUL character, and no file has such a name; name the file itself",
        ));
    }
    let plain = without_dots(path);
    let path = plain.as_path();
    let found = if is_standard_input(path) { vec![path.to_owned()] } else { named(path, format, seen)? };
    let mut files = Vec::new();
    for file in found {
        if seen.paths.insert(place_of(&file)) {
            let input = Input::new(&file, control)?;
            seen.tables.check(if is_standard_input(&file) {
                Path::new(STANDARD_INPUT_PLACE)
            } else {
                &file
            })?;
            seen.check_pipe(&input)?;
            let format = format.map_or_else(|| format_of(input.name()), Ok)?;
            files.push((input, format));
        }
    }
    Ok(files)
}

/// The files that a path or pattern names, also those that were seen before.
fn named(path: &Path, format: Option<FileFormat>, seen: &mut Seen) -> Result<Vec<PathBuf>> {
    // Two stars at the end are all that is in a folder. As a part of a pattern they would leave out the files in it.
    let path = match path.parent() {
        Some(folder) if path.ends_with("**") && !path.exists() && folder.as_os_str().is_empty() => {
            Path::new(".")
        }
        Some(folder) if path.ends_with("**") && !path.exists() => folder,
        Some(_) | None => path,
    };
    let found = if path.is_dir() {
        seen.tables.check(path)?;
        contents(path, format)?
    } else if is_pattern(path) {
        matches(path, format, seen)?
    } else {
        vec![path.to_owned()]
    };
    // A file that is called as the standard input is a file.
    let as_file = |path| if is_standard_input(path) { Path::new(".").join(path) } else { path.to_owned() };
    Ok(found.iter().map(|path| as_file(path)).collect())
}

/// Where a file that is the standard input can be found.
const STANDARD_INPUT_PLACE: &str = "/dev/stdin";

/// The path without parts that are a single dot: the library of patterns leaves them out of what it finds.
fn without_dots(path: &Path) -> PathBuf {
    let plain: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    if plain.as_os_str().is_empty() && !path.as_os_str().is_empty() {
        PathBuf::from(".")
    } else if is_standard_input(&plain) {
        // A file of this name.
        path.to_owned()
    } else {
        plain
    }
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
    tables: Tables,
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
fn contents(folder: &Path, format: Option<FileFormat>) -> Result<Vec<PathBuf>> {
    let text = folder.to_str().ok_or_else(|| unreadable(folder, "its name is not valid Unicode"))?;
    let text = if text == "." { "" } else { text };
    let all = Path::new(&glob::Pattern::escape(text)).join("**").join("*");
    let mut files = named_by(&all, folder)?;
    check_names(files.iter().filter(|file| file.is_dir()).map(PathBuf::as_path).chain([folder]))?;
    files.retain(|file| {
        file.strip_prefix(text).is_ok_and(|below| !below.iter().any(is_hidden)) && !file.is_dir()
    });
    for file in &files {
        check_regular(file)?;
    }
    if files.is_empty() {
        return Err(unreadable(folder, "there is no file in this folder"));
    }
    check_alike(&files, folder, format)?;
    Ok(files)
}

/// Refuses a folder whose files cannot all be of the given format: some may be marks of tools.
fn check_alike(files: &[PathBuf], folder: &Path, format: Option<FileFormat>) -> Result<()> {
    let Some(format) = format.map(|format| mem::discriminant(&format)) else { return Ok(()) };
    let tells = |file: &PathBuf| format_of(file).is_ok_and(|told| mem::discriminant(&told) == format);
    let mut extensions = files.iter().map(|file| extension_of(file));
    let first = extensions.next();
    if files.iter().all(tells) || extensions.all(|other| Some(other) == first) {
        return Ok(());
    }
    Err(unreadable(
        folder,
        "its files have several extensions, and not all can be of one file_format=; name those to read by a pattern",
    ))
}

/// Refuses folders with names that patterns cannot match: their files would be left out without a word.
fn check_names<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    for folder in folders {
        // A pattern without a folder is about the working one.
        let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        for entry in fs::read_dir(named).map_err(|e| io_failed(named, &e))? {
            let name = entry.map_err(|e| io_failed(named, &e))?.file_name();
            if name.to_str().is_none() {
                return Err(unreadable(
                    named,
                    "a file in it has a name that is not valid Unicode, which no pattern matches; rename it, or name \
                     each file by itself",
                ));
            }
        }
    }
    Ok(())
}

fn is_hidden(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with('.') || (name.starts_with('_') && !name.contains('='))
}

/// Refuses what is no file: to read a pipe, a socket or a device may take for ever.
fn check_regular(file: &Path) -> Result<()> {
    if fs::metadata(file).map_err(|e| io_failed(file, &e))?.is_file() {
        return Ok(());
    }
    Err(unreadable(
        file,
        "it is a pipe, a socket or a device, not a file; name it by itself, or take it away",
    ))
}

/// The files that match a pattern, and those of folders that do.
fn matches(pattern: &Path, format: Option<FileFormat>, seen: &mut Seen) -> Result<Vec<PathBuf>> {
    check_classes(pattern)?;
    let found = named_by(pattern, pattern)?;
    if found.is_empty() {
        return Err(unreadable(pattern, "no file matches this pattern"));
    }
    check_names(found.iter().filter_map(|path| path.parent()).collect::<HashSet<_>>())?;
    let mut files = Vec::new();
    for path in found {
        check_named(&path, pattern)?;
        if path.is_dir() {
            seen.tables.check(&path)?;
            files.extend(contents(&path, format)?);
        } else {
            check_regular(&path)?;
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Refuses classes of characters that shells read in another way: the files would be others than those meant.
fn check_classes(pattern: &Path) -> Result<()> {
    let text = pattern.to_string_lossy();
    if !["[^", "[[:", "[[.", "[[="].iter().any(|start| text.contains(start)) {
        return Ok(());
    }
    Err(unreadable(
        pattern,
        "not a valid pattern: [^a], [[:alpha:]] and the like have no meaning here; write [!a] for all but a, and a range \
         such as [a-z]",
    ))
}

/// Refuses a mark of a tool that only a wildcard meets: its rows may not be meant, or they may.
fn check_named(path: &Path, pattern: &Path) -> Result<()> {
    // Folders before the first wildcard are written out.
    let is_wild = |part: &OsStr| part.to_string_lossy().contains(['*', '?', '[']);
    let above = pattern.iter().take_while(|part| !is_wild(part)).count();
    let first = |name: &OsStr| name.to_string_lossy().chars().next();
    let is_written = |name: &OsStr| pattern.iter().skip(above).any(|part| first(part) == first(name));
    if !path.iter().skip(above).any(|name| is_hidden(name) && !is_written(name)) {
        return Ok(());
    }
    Err(unreadable(
        path,
        "a wildcard meets it, and names that start with a dot or an underscore are marks of tools; write that character \
         out in the pattern to read it, or name the folder, which leaves such files out",
    ))
}

/// The paths that match a pattern, sorted. Errors name `shown`.
fn named_by(pattern: &Path, shown: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_str().ok_or_else(|| unreadable(shown, "the pattern is not valid Unicode"))?;
    let entries =
        glob::glob(text).map_err(|e| unreadable(shown, format!("not a valid pattern: {}", e.msg)))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| io_failed(e.path(), e.error()))?);
    }
    paths.sort();
    Ok(paths)
}

/// The extension of a name in lower case, without a compression after it.
fn extension_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let name = ["", ".gz", ".zst"].iter().rev().find_map(|end| name.strip_suffix(end))?;
    name.rsplit_once('.').map(|(_, extension)| extension.to_owned())
}

/// Why a file of this extension is not read.
fn unknown_format(extension: Option<&str>) -> String {
    extension.and_then(magic::by_extension).map_or_else(
        || {
            "the name does not tell the format; use .parquet, .csv, .tsv, .ndjson, .jsonl, .arrow, .arrows, .feather \
             or .ipc (text also with .gz or .zst), or pass file_format="
                .into()
        },
        magic::UnreadFormat::refusal,
    )
}

/// The format that a file's extension names; `.gz` and `.zst` after it do not matter.
///
/// # Errors
/// [`Error::File`] for other extensions.
pub(super) fn format_of(path: &Path) -> Result<FileFormat> {
    match extension_of(path).as_deref() {
        Some("parquet" | "pq") => Ok(FileFormat::Parquet),
        Some("csv") => Ok(FileFormat::Csv(Dialect::COMMAS)),
        Some("tsv" | "tab") => Ok(FileFormat::Csv(Dialect::TABS)),
        Some("ndjson" | "jsonl") => Ok(FileFormat::NdJson),
        Some("arrow" | "arrows" | "feather" | "ipc") => Ok(FileFormat::Ipc),
        other => Err(unreadable(path, unknown_format(other))),
    }
}
