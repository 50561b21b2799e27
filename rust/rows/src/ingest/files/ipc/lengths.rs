//! Checks the lengths that an Arrow IPC file states, before a decoder allocates memory for them.
//!
//! The decoder trusts the lengths, and an allocation that fails aborts the process: there is no error and no panic to
//! catch. So a length that points outside the file is refused here, and a decompressed length must be possible to
//! allocate. The decoder checks everything else. `docs/decisions/0012-ndjson.md` has the draft of a report to its
//! authors.

use std::io::{self, Read, Seek, SeekFrom};

use arrow_ipc::{Block, Footer, Message, RecordBatch, root_as_footer, root_as_message};

/// At the end of the file format: the length of the footer and the magic.
const TRAILER: u64 = 10;
/// The bytes before the metadata of a message. Very old writers leave them out.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];
/// A compressed buffer starts with its length when decompressed, or with -1 if it is not compressed after all.
const PREFIX: u64 = 8;
/// The largest factor of decompression. Zstandard repeats a byte 128 KiB times with 4 bytes, LZ4 gains 255 at most.
const MOST_GAIN: u64 = 1 << 15;
/// Allowance for short buffers.
const HEADROOM: u64 = 1 << 17;

/// A file and its size.
pub(super) struct SizedFile<'a, R> {
    pub(super) file: &'a mut R,
    pub(super) size: u64,
}

/// Whether every length in the file format lies inside the file and can be allocated.
///
/// # Errors
/// Those of the operating system.
pub(super) fn of_file(file: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let mut source = SizedFile { file, size };
    let Some((_, footer)) = source.footer()? else { return Ok(false) };
    // The decoder refuses an invalid footer before it uses a length.
    root_as_footer(&footer).map_or(Ok(true), |footer| source.blocks(footer))
}

/// Whether every length in the stream format lies inside the file and can be allocated.
///
/// # Errors
/// Those of the operating system.
pub(super) fn of_stream(file: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let mut source = SizedFile { file, size };
    let mut at = 0;
    while let Some((start, length)) = source.header(at)?.filter(|(_, length)| *length > 0) {
        let Some(metadata) = source.bytes(start, length)? else { return Ok(false) };
        let Ok(message) = root_as_message(&metadata) else { return Ok(true) };
        let (body, Ok(length)) = (start + length, u64::try_from(message.bodyLength())) else {
            return Ok(false);
        };
        if !source.holds(body, length) || !source.can_decompress(message, body)? {
            return Ok(false);
        }
        at = body + length;
    }
    Ok(true)
}

/// A stored length; `None` if it is negative.
pub(super) fn length(bytes: &[u8]) -> Option<u64> {
    let length = i32::from_le_bytes(bytes.try_into().ok()?);
    u64::try_from(length).ok()
}

impl<R: Read + Seek> SizedFile<'_, R> {
    fn holds(&self, start: u64, length: u64) -> bool {
        start.checked_add(length).is_some_and(|end| end <= self.size)
    }

    /// The position and the bytes of the footer of a file; `None` if they are not inside the file.
    pub(super) fn footer(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        let Some(end) = self.size.checked_sub(TRAILER) else { return Ok(None) };
        let Some(trailer) = self.bytes(end, TRAILER)? else { return Ok(None) };
        let Some(length) = length(&trailer[..4]) else { return Ok(None) };
        let Some(start) = end.checked_sub(length) else { return Ok(None) };
        Ok(self.bytes(start, length)?.map(|footer| (start, footer)))
    }

    /// A part of the file; `None` if it is not inside the file.
    pub(super) fn bytes(&mut self, start: u64, length: u64) -> io::Result<Option<Vec<u8>>> {
        if !self.holds(start, length) {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        self.file.by_ref().take(length).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 == length).then_some(bytes))
    }

    /// The start and the length of the metadata of the message at a position; `None` at the end of the file.
    pub(super) fn header(&mut self, at: u64) -> io::Result<Option<(u64, u64)>> {
        let Some(first) = self.bytes(at, 4)? else { return Ok(None) };
        if first != CONTINUATION {
            return Ok(length(&first).map(|length| (at + 4, length)));
        }
        let second = self.bytes(at + 4, 4)?;
        Ok(second.and_then(|bytes| length(&bytes)).map(|length| (at + 8, length)))
    }

    fn blocks(&mut self, footer: Footer) -> io::Result<bool> {
        for blocks in [footer.dictionaries(), footer.recordBatches()].into_iter().flatten() {
            for block in blocks {
                if !self.block(*block)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn block(&mut self, block: Block) -> io::Result<bool> {
        let lengths = (block.offset(), i64::from(block.metaDataLength()), block.bodyLength());
        let (Ok(start), Ok(metadata), Ok(body)) =
            (lengths.0.try_into(), lengths.1.try_into(), lengths.2.try_into())
        else {
            return Ok(false);
        };
        let (start, metadata, body): (u64, u64, u64) = (start, metadata, body);
        let Some(behind) = start.checked_add(metadata) else { return Ok(false) };
        if !self.holds(behind, body) {
            return Ok(false);
        }
        let Some((from, length)) = self.header(start)? else { return Ok(false) };
        let Some(bytes) = self.bytes(from, length)? else { return Ok(false) };
        // The decoder parses beyond that length, and may find a message where the length allows none.
        root_as_message(&bytes).map_or(Ok(false), |message| self.can_decompress(message, behind))
    }

    /// Whether the stated lengths after decompression can be allocated.
    fn can_decompress(&mut self, message: Message, body: u64) -> io::Result<bool> {
        let batch = match message.header_as_dictionary_batch() {
            Some(dictionary) => dictionary.data(),
            None => message.header_as_record_batch(),
        };
        let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(true) };
        self.compressed(batch, body)
    }

    fn compressed(&mut self, batch: RecordBatch, body: u64) -> io::Result<bool> {
        for buffer in batch.buffers().into_iter().flatten() {
            let (Ok(offset), Ok(length)) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length()))
            else {
                return Ok(false);
            };
            let Some(start) = body.checked_add(offset) else { return Ok(false) };
            if length < PREFIX {
                continue;
            }
            let Some(prefix) = self.bytes(start, PREFIX)? else { return Ok(false) };
            let Ok(claim) = prefix.try_into().map(i64::from_le_bytes) else { return Ok(false) };
            if claim > 0 && !is_possible(claim.unsigned_abs(), length) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether `compressed` bytes can expand to `claim` bytes, and these can be allocated.
fn is_possible(claim: u64, compressed: u64) -> bool {
    let most = compressed.saturating_mul(MOST_GAIN).saturating_add(HEADROOM);
    let reserved =
        || usize::try_from(claim).is_ok_and(|claim| Vec::<u8>::new().try_reserve_exact(claim).is_ok());
    claim <= most && reserved()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

    use super::*;

    fn written(file: bool, compression: Option<CompressionType>) -> Vec<u8> {
        let column: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..500).map(|i| format!("value {}", i % 7))));
        let batch = arrow_array::RecordBatch::try_from_iter([("item", column)]).unwrap();
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut out = Vec::new();
        if file {
            let mut writer = FileWriter::try_new_with_options(&mut out, &batch.schema(), options).unwrap();
            (0..3).for_each(|_| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        } else {
            let mut writer = StreamWriter::try_new_with_options(&mut out, &batch.schema(), options).unwrap();
            (0..3).for_each(|_| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        }
        out
    }

    fn checked(bytes: &[u8], file: bool) -> bool {
        let size = bytes.len() as u64;
        let mut source = Cursor::new(bytes);
        if file { of_file(&mut source, size).unwrap() } else { of_stream(&mut source, size).unwrap() }
    }

    #[test]
    fn honest_lengths_pass() {
        for compression in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
            assert!(checked(&written(true, compression), true));
            assert!(checked(&written(false, compression), false));
        }
    }

    /// Any eight bytes may become an enormous number. A file that passes can be decoded or refused without a large
    /// allocation.
    #[test]
    fn enormous_lengths_do_not() {
        for (file, compression) in [(true, None), (false, None), (true, Some(CompressionType::ZSTD))] {
            let honest = written(file, compression);
            let refused = (0..honest.len() - 8).filter(|at| {
                let mut bytes = honest.clone();
                bytes[*at..at + 8].copy_from_slice(&(1_i64 << 52).to_le_bytes());
                !checked(&bytes, file)
            });
            assert!(refused.count() >= 3);
        }
    }

    /// The decoder of files parses the message of a block up to the end of the block, whatever its length states.
    #[test]
    fn a_message_has_to_lie_within_its_length() {
        let honest = written(true, Some(CompressionType::ZSTD));
        let marks = (8..honest.len() - 8).filter(|at| honest[*at..*at + 4] == CONTINUATION);
        let headers: Vec<usize> = marks.filter(|at| honest[*at + 4..*at + 8] != [0; 4]).collect();
        // The schema and three batches; the footer repeats the schema.
        assert_eq!(headers.len(), 4);
        for header in &headers[1..] {
            let mut bytes = honest.clone();
            bytes[header + 4..header + 8].copy_from_slice(&16_u32.to_le_bytes());
            assert!(!checked(&bytes, true));
        }
    }

    #[test]
    fn what_cannot_come_out_is_not_believed() {
        assert!(is_possible(1 << 17, 30) && is_possible(1 << 20, 1 << 10));
        assert!(!is_possible(1 << 30, 30) && !is_possible(u64::MAX, u64::MAX));
    }
}
