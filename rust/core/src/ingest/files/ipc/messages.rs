//! A stream that cannot be looked through beforehand, message by message.
//!
//! Each message is read whole, at the pace of the bytes that are there, and its lengths are checked before the decoder
//! sees them.

use std::io::{self, Cursor, Read};

use arrow_ipc::root_as_message;

use super::lengths::{self, CONTINUATION, length};

/// The kind of error for lengths that are not true.
pub(super) const REFUSED: io::ErrorKind = io::ErrorKind::InvalidData;

/// Bytes of a stream, of which each message has passed the check.
pub(super) struct Messages<R> {
    stream: R,
    message: Cursor<Vec<u8>>,
}

impl<R: Read> Messages<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, message: Cursor::default() }
    }

    /// Append so many bytes, or as many as there are.
    fn append(&mut self, bytes: u64, message: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let start = message.len();
        let read = (&mut self.stream).take(bytes).read_to_end(message)? as u64;
        Ok((read == bytes).then_some(start))
    }

    /// The next message, as far as the stream goes; nothing at its end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut message = Vec::new();
        let whole = self.parts(&mut message)?.is_some();
        let size = message.len() as u64;
        // A message that is cut off has lengths that point beyond its end, if it gets as far as naming them.
        if whole && !lengths::of_stream(&mut Cursor::new(&message), size)? {
            return Err(REFUSED.into());
        }
        // Not the kind of error that says so: the decoder would take it for the end of the stream.
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
        // What is no message is left to the decoder; the mark at the end has no metadata.
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
