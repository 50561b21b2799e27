//! Whether the pages of a file can be read, as far as that needs no row: they are in it, and not encrypted.
//!
//! A footer in the clear describes encrypted columns like all others. The decoder is built without decryption, and does not
//! tell them. But the header of a page is encrypted, too.

use std::sync::Arc;

use dpsel_exact::Result;
use parquet::column::page::PageReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::shared_file::{SharedFile, failed, needed, unread};
use crate::ingest::files::reason::unreadable;

const ELSEWHERE: &str =
    "its rows are in other files, as those of a _metadata file; name these files, or their folder";

/// Refuse a file whose pages are in other files, or whose first pages have no header.
///
/// # Errors
/// [`dpsel_exact::Error::File`].
pub(super) fn check<R: ChunkReader + 'static>(file: &SharedFile, bytes: R) -> Result<()> {
    let path = file.input.name();
    let mut chunks = file.metadata.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
    if chunks.any(|chunk| chunk.file_path().is_some()) {
        return Err(unreadable(path, ELSEWHERE));
    }
    first(file, &Arc::new(bytes)).map_err(|error| failed(path, &error, &unread(0)))
}

/// Read the headers of the first pages. A column is encrypted in all of its row groups.
fn first<R: ChunkReader + 'static>(file: &SharedFile, bytes: &Arc<R>) -> Result<(), ParquetError> {
    let Some(group) = file.metadata.metadata().row_groups().first() else { return Ok(()) };
    let rows = usize::try_from(group.num_rows())?;
    for chunk in needed(group, &file.mask).filter(|chunk| chunk.num_values() > 0) {
        SerializedPageReader::new(Arc::clone(bytes), chunk, rows, None)?.peek_next_page()?;
    }
    Ok(())
}
