//! Text files, compressed or not. Progress counts the bytes before decompression.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dpsel_exact::Result;

use super::compressed;
use super::input::ByteReader;
use super::magic;
use super::reason::{Damaged, io_failed};

const BUFFER: usize = 256 * 1024;

/// The text of a file, from its start.
pub(super) struct Text {
    pub(super) reader: Box<dyn BufRead + Send>,
    read: Arc<AtomicU64>,
    counted: u64,
}

impl Text {
    /// Start to read. Gzip and Zstandard are recognised by their first bytes, not by the file name.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`].
    pub(super) fn new(bytes: ByteReader, path: &Path) -> Result<Self> {
        Self::try_new(bytes).map_err(|e| io_failed(path, &e))
    }

    fn try_new(file: ByteReader) -> io::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let counting = Counting { file, read: Arc::clone(&read) };
        let mut reader = compressed::decompressed(BufReader::with_capacity(BUFFER, counting), BUFFER)?;
        // The text of a compressed file is looked at as well: it may be compressed twice.
        match magic::by_start(reader.fill_buf()?) {
            Some(kind) => Err(Damaged::error(kind.refusal())),
            None => Ok(Self { reader, read, counted: 0 }),
        }
    }

    /// Bytes read since the last call, counted before decompression.
    pub(super) fn work(&mut self) -> u64 {
        let read = self.read.load(Ordering::Relaxed);
        let work = read - self.counted;
        self.counted = read;
        work
    }
}

struct Counting {
    file: ByteReader,
    read: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
