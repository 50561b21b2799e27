//! Checks that the footer of a file lists every batch in it.
//!
//! The decoder reads what the footer lists. A footer that lists fewer batches than were written leaves rows out.

use std::collections::HashSet;
use std::io::{self, Read, Seek};

use arrow_ipc::{Block, MessageHeader, MetadataVersion, root_as_footer, root_as_message};

use super::lengths::{CONTINUATION, SizedFile};
use crate::ingest::files::concatenated_files::starts_near;

/// The first message stands behind the magic, which is padded.
const FIRST: u64 = 8;

/// Whether every batch that follows the start of the file or another batch is in the footer.
///
/// # Errors
/// Those of the operating system.
pub(super) fn every_batch(file: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let mut source = SizedFile { file, size };
    let Some((end, footer)) = source.footer()? else { return Ok(true) };
    // The decoder refuses an invalid footer.
    let Ok(footer) = root_as_footer(&footer) else { return Ok(true) };
    let blocks = || [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten();
    let listed: HashSet<u64> = blocks().filter_map(|block| u64::try_from(block.offset()).ok()).collect();
    for start in blocks().filter_map(behind).chain(source.behind_schema()?) {
        if start < end && !listed.contains(&start) && source.has_batch(start, end)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether batches are of another version of the format than the footer, which the decoder refuses.
///
/// # Errors
/// Those of the operating system.
pub(super) fn has_two_versions(file: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let mut source = SizedFile { file, size };
    let Some((_, footer)) = source.footer()? else { return Ok(false) };
    let Ok(footer) = root_as_footer(&footer) else { return Ok(false) };
    let blocks = [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten();
    // A writer takes one version for all batches.
    let Some(start) = blocks.map(Block::offset).next() else { return Ok(false) };
    // Otherwise: the decoder refuses a negative position.
    let Some((from, length)) = u64::try_from(start).map_or(Ok(None), |start| source.header(start))? else {
        return Ok(false);
    };
    let Some(bytes) = source.bytes(from, length)? else { return Ok(false) };
    Ok(root_as_message(&bytes).is_ok_and(|message| {
        footer.version() != MetadataVersion::V1 && message.version() != footer.version()
    }))
}

/// The position behind a batch.
fn behind(block: &Block) -> Option<u64> {
    let metadata = u64::try_from(block.metaDataLength()).ok()?;
    let start = u64::try_from(block.offset()).ok()?.checked_add(metadata)?;
    start.checked_add(u64::try_from(block.bodyLength()).ok()?)
}

/// Whether the file stands behind another one.
///
/// # Errors
/// Those of the operating system.
pub(super) fn is_joined(file: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let mut source = SizedFile { file, size };
    let Some((end, footer)) = source.footer()? else { return Ok(false) };
    let Ok(footer) = root_as_footer(&footer) else { return Ok(false) };
    let blocks = [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten();
    let schema = source.behind_schema()?;
    let Some(described) = blocks.filter_map(behind).max().or(schema) else { return Ok(false) };
    starts_near(end.saturating_sub(described), b"ARROW1", |from, length| {
        // Otherwise: the part is not inside the file.
        Ok(source.bytes(from, length as u64)?.unwrap_or_default())
    })
}

impl<R: Read + Seek> SizedFile<'_, R> {
    /// The position behind the schema at the start, if that has the mark of a message before it.
    fn behind_schema(&mut self) -> io::Result<Option<u64>> {
        if self.bytes(FIRST, 4)?.is_none_or(|mark| mark != CONTINUATION) {
            return Ok(None);
        }
        Ok(self.header(FIRST)?.map(|(from, length)| from + length))
    }

    /// Whether a batch stands at a position: it has the mark of a message before it, and all of it stands before the end.
    fn has_batch(&mut self, at: u64, end: u64) -> io::Result<bool> {
        if self.bytes(at, 4)?.is_none_or(|mark| mark != CONTINUATION) {
            return Ok(false);
        }
        let Some((from, length)) = self.header(at)?.filter(|(_, length)| *length > 0) else {
            return Ok(false);
        };
        let Some(bytes) = self.bytes(from, length)? else { return Ok(false) };
        let Ok(message) = root_as_message(&bytes) else { return Ok(false) };
        let body = u64::try_from(message.bodyLength()).ok();
        let Some(next) = body.and_then(|body| (from + length).checked_add(body)) else { return Ok(false) };
        let is_batch =
            matches!(message.header_type(), MessageHeader::RecordBatch | MessageHeader::DictionaryBatch);
        Ok(is_batch && next <= end)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use arrow_ipc::writer::FileWriter;

    use super::*;

    #[test]
    fn a_batch_that_is_not_listed_is_found() {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
        let batch = RecordBatch::try_from_iter([("item", column)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        (0..3).for_each(|_| writer.write(&batch).unwrap());
        writer.finish().unwrap();
        let size = bytes.len() as u64;
        assert!(every_batch(&mut Cursor::new(&bytes), size).unwrap());
        // The vector of blocks in the footer starts with its length.
        let block = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let (_, footer) = SizedFile { file: &mut Cursor::new(&bytes), size }.footer().unwrap().unwrap();
        let first = root_as_footer(&footer).unwrap().recordBatches().unwrap().get(0).offset();
        let from = bytes.len() - 10 - footer.len();
        let vector = (from..bytes.len() - 8).find(|at| block(*at) == first).unwrap();
        let length = (from..vector).rev().find(|at| bytes[*at..*at + 4] == [3, 0, 0, 0]).unwrap();
        bytes[length] = 2;
        assert!(!every_batch(&mut Cursor::new(&bytes), size).unwrap());
    }
}
