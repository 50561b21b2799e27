//! Folders whose files are not their rows.
//!
//! The library of such a table keeps a log of the files and rows that belong to it. The others are rows that were deleted or
//! never committed, and stay in the folder. So no file in or below such a folder is read, whatever path names it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::reason::unreadable;
use crate::Result;

/// A kind of table, and the way to read it.
type Kind = (&'static str, &'static str);

const DELTA: Kind =
    ("a Delta table", "deltalake.DeltaTable(path).to_pyarrow_table(), or DuckDB's delta_scan as --sql");
const ICEBERG: Kind =
    ("an Iceberg table", "PyIceberg's table.scan().to_arrow(), or DuckDB's iceberg_scan as --sql");
const HUDI: Kind = ("a Hudi table", "Hudi's reader on Spark, or hudi-rs to Arrow");
const PAIMON: Kind = ("a Paimon table", "Paimon's reader, to Arrow or on Spark");
const ACID: Kind = ("a transactional Hive table", "Hive, or its reader on Spark");
const SINK: Kind = ("the output of a Spark stream", "spark.read");
const DUCKLAKE: Kind = ("a DuckLake table", "DuckDB that is attached to its catalog, also as --sql");
const DATASET: Kind = ("a data set of Hugging Face's datasets", "datasets.load_from_disk(path)");

/// Folders that were looked at.
#[derive(Default)]
pub(super) struct Tables(HashMap<PathBuf, Option<Kind>>);

impl Tables {
    /// Refuse a file or folder that belongs to a table whose files are not its rows.
    ///
    /// Links are looked at where they stand and where they lead.
    ///
    /// # Errors
    /// [`crate::Error::File`].
    pub(super) fn check(&mut self, path: &Path) -> Result<()> {
        let places = [std::path::absolute(path), fs::canonicalize(path)];
        let found = places.iter().flatten().find_map(|place| self.kind_above(place));
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

    fn kind_above(&mut self, path: &Path) -> Option<Kind> {
        if is_of_ducklake(path) {
            return Some(DUCKLAKE);
        }
        path.ancestors().find_map(|folder| match self.0.get(folder) {
            Some(known) => *known,
            None => *self.0.entry(folder.to_owned()).or_insert_with(|| kind_of(folder)),
        })
    }
}

/// The kind of table that a folder is, by the marks in it.
fn kind_of(folder: &Path) -> Option<Kind> {
    let has = |name: &str| folder.join(name).exists();
    let marks: [(Kind, bool); 7] = [
        (DELTA, has("_delta_log")),
        (HUDI, has(".hoodie")),
        (ICEBERG, is_of_iceberg(&folder.join("metadata"))),
        (PAIMON, has("manifest") && has("snapshot") && has("schema")),
        (ACID, is_of_hive(folder)),
        (SINK, has("_spark_metadata")),
        (DATASET, has("state.json") && has("dataset_info.json")),
    ];
    marks.into_iter().find_map(|(kind, found)| found.then_some(kind))
}

fn is_of_iceberg(metadata: &Path) -> bool {
    let Ok(entries) = fs::read_dir(metadata) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name == "version-hint.text" || name.contains(".metadata.json")
    })
}

/// Whether the name is that of a base or of a delta of transactions: `base_7`, `delta_8_8`, `delete_delta_9_9_0`.
fn is_of_hive(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy());
    let number = name.as_deref().and_then(|name| {
        let after =
            ["base_", "delta_", "delete_delta_"].into_iter().find_map(|start| name.strip_prefix(start))?;
        Some(
            !after.is_empty()
                && after.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'v')),
        )
    });
    number == Some(true)
}

/// The catalog of a `DuckLake` is elsewhere. Its files are known by their names.
fn is_of_ducklake(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ducklake-"))
}
