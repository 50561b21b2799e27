//! Folders whose files are not their rows.
//!
//! The library of such a table keeps a log of the files and rows that belong to it. The others are rows that were deleted or
//! never committed, and stay in the folder. So no file in or below such a folder is read, whatever path names it.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use dpsel_exact::Result;
use parquet::file::metadata::FileMetaData;

use super::reason::unreadable;

/// A kind of table, and the way to read it.
type TableKind = (&'static str, &'static str);

const DELTA: TableKind =
    ("a Delta table", "deltalake.DeltaTable(path).to_pyarrow_table(), or DuckDB's delta_scan as --sql");
const ICEBERG: TableKind =
    ("an Iceberg table", "PyIceberg's table.scan().to_arrow(), or DuckDB's iceberg_scan as --sql");
const HUDI: TableKind = ("a Hudi table", "Hudi's reader on Spark, or hudi-rs to Arrow");
const PAIMON: TableKind = ("a Paimon table", "Paimon's reader, to Arrow or on Spark");
const ACID: TableKind = ("a transactional Hive table", "Hive, or its reader on Spark");
const SINK: TableKind = ("the output of a Spark stream", "spark.read");
const DUCKLAKE: TableKind = ("a DuckLake table", "DuckDB that is attached to its catalog, also as --sql");
const DATASET: TableKind = ("a data set of Hugging Face's datasets", "datasets.load_from_disk(path)");
const DATABRICKS: TableKind =
    ("the output of a transaction of Databricks", "spark.read on Databricks, and written anew elsewhere");

/// By what a kind of table is known.
enum TableMark {
    /// The folder, or one above it, has all these entries.
    Entries(&'static [&'static str]),
    /// As [`Self::Entries`], with an entry of this name or this end in the folder of the first name.
    Within(&'static str, &'static [&'static str]),
    /// The name of the folder, or of one above it, is this with numbers.
    Numbered(&'static [&'static str]),
    /// A file in the same folder has a name with this start.
    Beside(&'static str),
    /// The name of the file starts so.
    Named(&'static str),
    /// The footer of a Parquet file has this key.
    Key(&'static str),
}

/// All marks. The catalogs of some tables are elsewhere, and their files were copied without them.
const MARKS: [(TableKind, TableMark); 15] = [
    (DELTA, TableMark::Entries(&["_delta_log"])),
    (DELTA, TableMark::Beside("deletion_vector_")),
    (HUDI, TableMark::Entries(&[".hoodie"])),
    (HUDI, TableMark::Beside(".hoodie_partition_metadata")),
    (HUDI, TableMark::Key("org.apache.hudi.bloomfilter")),
    (HUDI, TableMark::Key("hoodie_min_record_key")),
    (ICEBERG, TableMark::Within("metadata", &["version-hint.text", ".metadata.json"])),
    (ICEBERG, TableMark::Key("iceberg.schema")),
    (PAIMON, TableMark::Entries(&["manifest", "snapshot", "schema"])),
    (ACID, TableMark::Numbered(&["base_", "delta_", "delete_delta_"])),
    (SINK, TableMark::Entries(&["_spark_metadata"])),
    (DATASET, TableMark::Entries(&["state.json", "dataset_info.json"])),
    (DATABRICKS, TableMark::Beside("_started_")),
    (DATABRICKS, TableMark::Beside("_committed_")),
    (DUCKLAKE, TableMark::Named("ducklake-")),
];

/// Folders that were looked at.
#[derive(Default)]
pub(super) struct Tables {
    /// Whether they are tables, or belong to one.
    folders: HashMap<PathBuf, Option<TableKind>>,
    /// Whether their files do, by files beside them.
    beside: HashMap<PathBuf, Option<TableKind>>,
}

impl Tables {
    /// Refuse a file or folder that belongs to a table whose files are not its rows.
    ///
    /// Each link on the way is looked at where it stands, and the file where the last one leads.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`].
    pub(super) fn check(&mut self, path: &Path) -> Result<()> {
        refused(path, places(path).iter().find_map(|place| self.kind_of(place)))
    }

    fn kind_of(&mut self, path: &Path) -> Option<TableKind> {
        let name = path.file_name().map(|name| name.to_string_lossy());
        let named = |mark: &TableMark| match mark {
            TableMark::Named(start) => name.as_deref().is_some_and(|name| name.starts_with(start)),
            TableMark::Entries(_)
            | TableMark::Within(..)
            | TableMark::Numbered(_)
            | TableMark::Beside(_)
            | TableMark::Key(_) => false,
        };
        let mut above = path.ancestors();
        first(named)
            .or_else(|| above.find_map(|folder| known(&mut self.folders, folder, of_folder)))
            .or_else(|| known(&mut self.beside, path.parent()?, of_files))
    }
}

/// Refuse a Parquet file whose footer says that it belongs to such a table.
///
/// # Errors
/// [`dpsel_exact::Error::File`].
pub(super) fn check_footer(path: &Path, footer: &FileMetaData) -> Result<()> {
    let pairs = footer.key_value_metadata().map(Vec::as_slice);
    // Otherwise: a footer without keys.
    let pairs = pairs.unwrap_or_default();
    let of_footer = |mark: &TableMark| match mark {
        TableMark::Key(key) => pairs.iter().any(|pair| pair.key == *key),
        TableMark::Entries(_)
        | TableMark::Within(..)
        | TableMark::Numbered(_)
        | TableMark::Beside(_)
        | TableMark::Named(_) => false,
    };
    refused(path, first(of_footer))
}

/// As many links as systems follow.
const MOST_LINKS: usize = 40;

/// The links on the way to a file, and where the last one leads. Two dots go up from where a link leads.
fn places(path: &Path) -> Vec<PathBuf> {
    let Ok(mut rest) = std::path::absolute(path) else { return Vec::new() };
    let (mut places, mut at) = (Vec::new(), PathBuf::new());
    loop {
        let mut parts = rest.components();
        let Some(part) = parts.next() else { break };
        let after = parts.as_path().to_owned();
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(at.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => at.push(part),
        }
        rest = match fs::read_link(&at) {
            Ok(target) if matches!(part, Component::Normal(_)) && places.len() < MOST_LINKS => {
                places.push(at.clone());
                at.pop();
                target.join(after)
            }
            Ok(_) | Err(_) => after,
        };
    }
    places.push(at);
    places
}

fn refused(path: &Path, found: Option<TableKind>) -> Result<()> {
    match found {
        None => Ok(()),
        Some((kind, way)) => Err(unreadable(
            path,
            format!(
                "it belongs to {kind}, whose files may hold rows that are not in the table, such as deleted ones; \
                 read it with {way}, and pass the result"
            ),
        )),
    }
}

fn first(is_there: impl Fn(&TableMark) -> bool) -> Option<TableKind> {
    MARKS.iter().find_map(|(kind, mark)| is_there(mark).then_some(*kind))
}

fn known(
    seen: &mut HashMap<PathBuf, Option<TableKind>>,
    folder: &Path,
    look: fn(&Path) -> Option<TableKind>,
) -> Option<TableKind> {
    if !seen.contains_key(folder) {
        seen.insert(folder.to_owned(), look(folder));
    }
    seen.get(folder).copied().flatten()
}

/// The kind of table that a folder is, by what is in it and by its name.
fn of_folder(folder: &Path) -> Option<TableKind> {
    first(|mark| match mark {
        TableMark::Entries(names) => names.iter().all(|name| folder.join(name).exists()),
        TableMark::Within(below, ends) => {
            names_in(&folder.join(below)).any(|name| ends.iter().any(|end| name.contains(end)))
        }
        TableMark::Numbered(starts) => {
            folder.file_name().is_some_and(|name| is_numbered(&name.to_string_lossy(), starts))
        }
        TableMark::Beside(_) | TableMark::Named(_) | TableMark::Key(_) => false,
    })
}

/// The kind of table that the files of a folder belong to, by the names of all files in it.
fn of_files(folder: &Path) -> Option<TableKind> {
    let names: Vec<String> = names_in(folder).collect();
    first(|mark| match mark {
        TableMark::Beside(start) => names.iter().any(|name| name.starts_with(start)),
        TableMark::Entries(_)
        | TableMark::Within(..)
        | TableMark::Numbered(_)
        | TableMark::Named(_)
        | TableMark::Key(_) => false,
    })
}

/// The names in a folder; none if it is no folder, or may not be listed.
fn names_in(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// Whether a name is one of the starts, with numbers behind: `base_7`, `delta_8_8`, `delete_delta_9_9_0`.
fn is_numbered(name: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| {
        name.strip_prefix(start).is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'v'))
        })
    })
}
