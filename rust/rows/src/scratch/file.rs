//! One scratch file: blocks are appended by several threads, read at their places, and replaced there.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::{Error, Result};

use super::space::{Scratch, TAG};

/// Where a block stands, the length of its content, and the number under which it is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredBlock {
    pub(super) offset: u64,
    pub(super) len: u32,
    number: u32,
}

/// A file without a name. It is freed when it is dropped.
#[derive(Debug)]
pub(super) struct ScratchFile {
    scratch: Scratch,
    number: u32,
    file: File,
    end: AtomicU64,
}

impl ScratchFile {
    /// # Errors
    /// [`dpsel_exact::Error::File`] if the folder takes no file; [`dpsel_exact::Error::Capacity`] if there are no more numbers.
    pub(super) fn new(scratch: &Scratch) -> Result<Self> {
        let (number, file) = (scratch.next_number()?, scratch.open()?);
        Ok(Self { scratch: scratch.clone(), number, file, end: AtomicU64::new(0) })
    }

    /// Append blocks with one write. `blocks` has the contents, each followed by room for its tag, and `lens` the
    /// lengths of the contents.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if the disk or the limit is full.
    pub(super) fn append(&self, blocks: &mut [u8], lens: &[u32]) -> Result<Vec<StoredBlock>> {
        let bytes = blocks.len() as u64;
        let start = self.end.fetch_add(bytes, Ordering::Relaxed);
        self.scratch.take(bytes)?;
        let (mut rest, mut offset, mut made) = (&mut *blocks, start, Vec::with_capacity(lens.len()));
        for &len in lens {
            let (content, others) = rest.split_at_mut(len as usize);
            let (tag, others) = others.split_at_mut(TAG);
            tag.copy_from_slice(&self.scratch.seal(self.number, offset, content)?);
            made.push(StoredBlock { offset, len, number: self.number });
            offset += u64::from(len) + TAG as u64;
            rest = others;
        }
        write_all_at(&self.file, blocks, start).map_err(|e| self.scratch.failed("write scratch to", &e))?;
        Ok(made)
    }

    /// Write a block in the place of another one of this file, of which nothing is left. `content` has room for its tag
    /// afterwards. A longer block is appended.
    ///
    /// # Errors
    /// As [`ScratchFile::append`]; [`dpsel_exact::Error::Capacity`] if there are no more numbers.
    pub(super) fn replace(&self, place: StoredBlock, content: &mut Vec<u8>) -> Result<StoredBlock> {
        let len = content.len();
        if len > index(place.len.into()) {
            return self.append_one(content);
        }
        // No other block, here or elsewhere, is encrypted under this number.
        let block = StoredBlock { number: self.scratch.next_number()?, len: codes(len), ..place };
        content.resize(len + TAG, 0);
        let (inner, tag) = content.split_at_mut(len);
        tag.copy_from_slice(&self.scratch.seal(block.number, block.offset, inner)?);
        write_all_at(&self.file, content, block.offset)
            .map_err(|e| self.scratch.failed("write scratch to", &e))?;
        Ok(block)
    }

    /// Append a block. `content` has room for its tag afterwards.
    ///
    /// # Errors
    /// As [`ScratchFile::append`]; [`dpsel_exact::Error::Capacity`] for a block beyond 4 GiB.
    pub(super) fn append_one(&self, content: &mut Vec<u8>) -> Result<StoredBlock> {
        let len = block_len(content.len())?;
        content.resize(content.len() + TAG, 0);
        self.append(content, &[len])?.pop().ok_or(Error::Internal("a block of scratch has no place"))
    }

    /// Read a block. The buffer holds its content afterwards.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if it cannot be read, or is not what was written.
    pub(super) fn read(&self, block: StoredBlock, content: &mut Vec<u8>) -> Result<()> {
        let len = index(block.len.into());
        content.resize(len + TAG, 0);
        read_exact_at(&self.file, content, block.offset).map_err(|e| {
            if e.kind() == std::io::ErrorKind::UnexpectedEof {
                self.scratch.damaged()
            } else {
                self.scratch.failed("read scratch from", &e)
            }
        })?;
        let mut tag = [0; TAG];
        tag.copy_from_slice(&content[len..]);
        content.truncate(len);
        self.scratch.unseal(block.number, block.offset, content, tag)
    }

    /// The file itself, to damage it.
    #[cfg(test)]
    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

/// The length of a block.
///
/// # Errors
/// [`dpsel_exact::Error::Capacity`] beyond 4 GiB.
pub(super) fn block_len(bytes: usize) -> Result<u32> {
    let limit = u32::MAX.into();
    u32::try_from(bytes).map_err(|_| Error::Capacity { what: "bytes of one block of scratch", limit })
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        self.scratch.give_back(self.end.load(Ordering::Relaxed));
    }
}

#[cfg(unix)]
pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
pub(super) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if written == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        (bytes, offset) = (&bytes[written..], offset + written as u64);
    }
    Ok(())
}

#[cfg(windows)]
pub(super) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        (bytes, offset) = (&mut bytes[read..], offset + read as u64);
    }
    Ok(())
}
