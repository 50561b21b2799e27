//! Checks that the footer of a file lists every batch in it.
//!
//! The decoder reads what the footer lists. A footer that lists fewer batches than were written leaves rows out.

use std::collections::HashSet;
use std::io::{self, Read, Seek};

use arrow_ipc::{MessageHeader, root_as_footer, root_as_message};

use super::lengths::Source;

/// The first message stands behind the magic, which is padded.
const FIRST: u64 = 8;

/// Whether every batch from the start of the file on is in the footer. A gap between messages ends the search.
///
/// # Errors
/// Those of the operating system.
pub(super) fn every_batch(file: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let mut source = Source { file, size };
    let Some((start, footer)) = source.footer()? else { return Ok(true) };
    // The decoder refuses an invalid footer.
    let Ok(footer) = root_as_footer(&footer) else { return Ok(true) };
    let blocks = [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten();
    let listed: HashSet<i64> = blocks.map(arrow_ipc::Block::offset).collect();
    let mut at = FIRST;
    while at < start {
        let Some((from, length)) = source.header(at)?.filter(|(_, length)| *length > 0) else { break };
        let Some(bytes) = source.bytes(from, length)? else { break };
        let Ok(message) = root_as_message(&bytes) else { break };
        let is_batch =
            matches!(message.header_type(), MessageHeader::RecordBatch | MessageHeader::DictionaryBatch);
        if is_batch && !i64::try_from(at).is_ok_and(|at| listed.contains(&at)) {
            return Ok(false);
        }
        let body = u64::try_from(message.bodyLength()).ok();
        let Some(next) = body.and_then(|body| (from + length).checked_add(body)) else { break };
        at = next;
    }
    Ok(true)
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
        let (_, footer) = Source { file: &mut Cursor::new(&bytes), size }.footer().unwrap().unwrap();
        let first = root_as_footer(&footer).unwrap().recordBatches().unwrap().get(0).offset();
        let from = bytes.len() - 10 - footer.len();
        let vector = (from..bytes.len() - 8).find(|at| block(*at) == first).unwrap();
        let length = (from..vector).rev().find(|at| bytes[*at..*at + 4] == [3, 0, 0, 0]).unwrap();
        bytes[length] = 2;
        assert!(!every_batch(&mut Cursor::new(&bytes), size).unwrap());
    }
}
