//! Where the data of a file starts, and where its footer says that it ends.

use std::path::Path;

use dpsel_exact::Result;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

use super::shared_file::{FOOTER, failed};
use crate::ingest::files::concatenated_files::{JOINED, starts_near};
use crate::ingest::files::reason::unreadable;

const MAGIC: &[u8] = b"PAR1";
/// The length of the footer and the magic, at the end.
const TRAILER: usize = 8;

/// Refuse a file that stands behind other bytes. Its positions would be those of the first file.
///
/// # Errors
/// [`dpsel_exact::Error::File`].
pub(super) fn check(bytes: &impl ChunkReader, metadata: &ParquetMetaData, path: &Path) -> Result<()> {
    match is_first(bytes, metadata) {
        Ok(true) => Ok(()),
        Ok(false) => Err(unreadable(path, JOINED)),
        Err(error) => Err(failed(path, &error, FOOTER)),
    }
}

fn is_first(bytes: &impl ChunkReader, metadata: &ParquetMetaData) -> ParquetResult<bool> {
    if bytes.get_bytes(0, MAGIC.len())? != MAGIC {
        return Ok(false);
    }
    let behind = bytes.len().saturating_sub(TRAILER as u64);
    let length = bytes.get_bytes(behind, 4)?;
    // Otherwise: the footer was read, so its length is there.
    let length = length.as_ref().try_into().map_or(0, u32::from_le_bytes);
    let footer = behind.saturating_sub(length.into());
    let chunks = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    // Otherwise: a file without a row group has its magic alone.
    let described = chunks.map(end_of).max().unwrap_or(0).max(MAGIC.len() as u64);
    starts_near(footer.saturating_sub(described), MAGIC, |from, length| {
        bytes.get_bytes(from, length).map(|bytes| bytes.to_vec())
    })
    .map(|joined| !joined)
}

/// The end of a column, of its indexes and of its filter.
fn end_of(chunk: &ColumnChunkMetaData) -> u64 {
    let data = chunk.data_page_offset();
    // Otherwise: a chunk without a dictionary starts with its data.
    let start = chunk.dictionary_page_offset().unwrap_or(data).min(data);
    let parts = [
        (Some(start), Some(chunk.compressed_size())),
        (chunk.column_index_offset(), chunk.column_index_length().map(i64::from)),
        (chunk.offset_index_offset(), chunk.offset_index_length().map(i64::from)),
        (chunk.bloom_filter_offset(), chunk.bloom_filter_length().map(i64::from)),
    ];
    let ends = parts.into_iter().filter_map(|(from, length)| from?.checked_add(length?));
    // Otherwise: nothing that a file has.
    ends.filter_map(|end| u64::try_from(end).ok()).max().unwrap_or(0)
}
