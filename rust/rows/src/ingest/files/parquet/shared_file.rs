//! What all parts of one Parquet file share, the columns that are read, and why a file cannot be.

use std::path::Path;
use std::sync::Arc;

use dpsel_exact::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use super::int96;
use crate::ingest::files::hive::FolderColumns;
use crate::ingest::files::input::Input;
use crate::ingest::files::reason::{io_failed, unreadable};
use crate::ingest::layout::Positions;

/// Why a file whose footer cannot be read is none.
pub(super) const FOOTER: &str = "not a Parquet file, or truncated: its footer cannot be read";

/// The state that all parts of one file share.
pub(super) struct SharedFile {
    pub(super) input: Input,
    pub(super) source: Arc<str>,
    pub(super) metadata: ArrowReaderMetadata,
    pub(super) mask: ProjectionMask,
    pub(super) folders: FolderColumns,
    /// Positions of the columns of the file, and behind them those of its folders.
    pub(super) positions: Positions,
    /// The needed columns of type INT96.
    pub(super) instants: Vec<int96::Int96Column>,
}

/// Refuses a file that states two numbers of rows: the decoder believes one of them, and leaves rows out.
pub(super) fn check_rows(file: &SharedFile) -> Result<()> {
    let metadata = file.metadata.metadata();
    let groups = metadata.row_groups();
    let total = groups.iter().try_fold(0_i64, |sum, group| sum.checked_add(group.num_rows()));
    let agrees = |group: &RowGroupMetaData| {
        let mut flat = needed(group, &file.mask).filter(|chunk| chunk.column_descr().max_rep_level() == 0);
        flat.all(|chunk| chunk.num_values() == group.num_rows())
    };
    if total == Some(metadata.file_metadata().num_rows()) && groups.iter().all(agrees) {
        return Ok(());
    }
    Err(unreadable(file.input.name(), "its footer states numbers of rows that contradict each other"))
}

/// The rows of a row group that have a user and an item, at most: as many as values in the column with the fewest. Zero
/// if the file does not say which values are null.
pub(super) fn rows_held(group: &RowGroupMetaData, mask: &ProjectionMask) -> u64 {
    let values = needed(group, mask).map(|chunk| {
        let nulls = match (chunk.column_descr().max_def_level(), chunk.statistics()) {
            (0, _) => Some(0),
            (_, statistics) => statistics.and_then(Statistics::null_count_opt),
        };
        let values = u64::try_from(chunk.num_values()).ok();
        // Otherwise: a file that says so cannot be read, or does not say it.
        values.zip(nulls).map_or(0, |(values, nulls)| values.saturating_sub(nulls))
    });
    let rows = u64::try_from(group.num_rows()).unwrap_or(0);
    values.fold(rows, u64::min)
}

/// The column chunks of a row group that are read.
pub(super) fn needed<'a>(
    group: &'a RowGroupMetaData,
    mask: &'a ProjectionMask,
) -> impl Iterator<Item = &'a ColumnChunkMetaData> {
    group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)).map(|(_, chunk)| chunk)
}

/// Why the pages of a row group cannot be read.
pub(super) fn unread(group: usize) -> String {
    format!("malformed, truncated or encrypted data in row group {group}")
}

/// The error of the decoder, without its words.
pub(super) fn failed(path: &Path, error: &ParquetError, otherwise: &str) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast_ref::<std::io::Error>() {
            Some(inner) => io_failed(path, inner),
            None => unreadable(path, otherwise),
        },
        _ => unreadable(path, otherwise),
    }
}
