//! A Parquet file on a disk, read page by page.
//!
//! The library clones and seeks the handle for each page, and reads the page in several calls of the system. Here it takes
//! one call, which writes to memory that need not be zeroed before.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use rustix::buffer::spare_capacity;
use rustix::io::{pread, retry_on_intr};

/// Bytes read at a time where the header of a page begins. Most headers are shorter.
const HEADER: usize = 1024;

/// A file that several readers may read at different positions.
pub(super) struct FileChunkReader(Arc<File>);

impl FileChunkReader {
    pub(super) fn new(file: File) -> Self {
        Self(Arc::new(file))
    }
}

/// The bytes of a file from a position on.
pub(super) struct FileRest {
    file: Arc<File>,
    at: u64,
}

impl Read for FileRest {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for FileChunkReader {
    fn len(&self) -> u64 {
        Length::len(&*self.0)
    }
}

impl ChunkReader for FileChunkReader {
    type T = BufReader<FileRest>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(HEADER, FileRest { file: Arc::clone(&self.0), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = Vec::new();
        // A damaged file may ask for any number.
        bytes.try_reserve_exact(length).map_err(|error| ParquetError::External(Box::new(error)))?;
        while bytes.len() < length {
            let at = start + bytes.len() as u64;
            let read = retry_on_intr(|| pread(&*self.0, spare_capacity(&mut bytes), at));
            if read.map_err(io::Error::from)? == 0 {
                return Err(ParquetError::EOF(format!("{length} bytes from {start} on, and the file ends")));
            }
        }
        // More were read if the vector has more room than was asked for.
        bytes.truncate(length);
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use dpsel_exact::numeric::widths::index;

    use super::*;

    #[test]
    fn bytes_are_those_of_the_file_as_the_library_reads_them() {
        let mut file = tempfile::tempfile().unwrap();
        let all: Vec<u8> = (0..100_000_u32).map(|i| (i * 7 % 251) as u8).collect();
        file.write_all(&all).unwrap();
        let ours = FileChunkReader::new(file.try_clone().unwrap());
        assert_eq!(ours.len(), 100_000);
        for (start, length) in [(0, 0), (0, 1), (7, 5000), (99_999, 1), (100_000, 0), (0, 100_000)] {
            let read = ours.get_bytes(start, length).unwrap();
            assert_eq!(read, all[index(start)..index(start) + length]);
            assert_eq!(read, file.get_bytes(start, length).unwrap());
            let mut rest = Vec::new();
            ours.get_read(start).unwrap().read_to_end(&mut rest).unwrap();
            assert_eq!(rest, all[index(start)..]);
        }
        for (start, length) in [(99_999, 2), (100_000, 1), (200_000, 1), (0, 1 << 40), (0, usize::MAX)] {
            assert!(ours.get_bytes(start, length).is_err());
        }
    }
}
