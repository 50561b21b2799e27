//! Reads a stream from a pipe, message by message.
//!
//! A pipe cannot be checked beforehand. So each message is read whole, and its lengths are checked before the decoder
//! sees them.

use std::io::{self, Cursor, Read};

use arrow_ipc::root_as_message;

use super::lengths::{self, CONTINUATION, length};

/// The kind of error for false lengths.
pub(super) const REFUSED: io::ErrorKind = io::ErrorKind::InvalidData;

/// Bytes of a stream whose messages have passed the check.
pub(super) struct Messages<R> {
    stream: R,
    message: Cursor<Vec<u8>>,
}

impl<R: Read> Messages<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, message: Cursor::default() }
    }

    /// Append `bytes` bytes, or all that are left. Returns their start; `None` if there are fewer.
    fn append(&mut self, bytes: u64, message: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let start = message.len();
        let read = (&mut self.stream).take(bytes).read_to_end(message)? as u64;
        Ok((read == bytes).then_some(start))
    }

    /// The next message, or the rest of the stream; empty at its end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut message = Vec::new();
        let whole = self.parts(&mut message)?.is_some();
        let size = message.len() as u64;
        // A message that is cut off would fail this check, because its lengths point beyond its end.
        if whole && !lengths::of_stream(&mut Cursor::new(&message), size)? {
            return Err(REFUSED.into());
        }
        // The kind is not `UnexpectedEof`, which the decoder would take for the end of the stream.
        if whole || message.len() <= PREFIX { Ok(message) } else { Err(REFUSED.into()) }
    }

    /// Prefix, metadata and body; `None` if the stream ends before.
    fn parts(&mut self, message: &mut Vec<u8>) -> io::Result<Option<()>> {
        let Some(mut start) = self.append(4, message)? else { return Ok(None) };
        if message[start..] == CONTINUATION {
            let Some(second) = self.append(4, message)? else { return Ok(None) };
            start = second;
        }
        let Some(metadata) = length(&message[start..]) else { return Err(REFUSED.into()) };
        let Some(start) = self.append(metadata, message)? else { return Ok(None) };
        // The decoder refuses invalid messages. The end mark has no metadata.
        let Ok(header) = root_as_message(&message[start..]) else { return Ok(Some(())) };
        let Ok(body) = u64::try_from(header.bodyLength()) else { return Err(REFUSED.into()) };
        Ok(self.append(body, message)?.map(drop))
    }
}

/// Bytes of a message before its metadata.
const PREFIX: usize = 8;

impl<R: Read> Read for Messages<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.message.position() == self.message.get_ref().len() as u64 && !buffer.is_empty() {
            self.message = Cursor::new(self.next()?);
        }
        self.message.read(buffer)
    }
}
