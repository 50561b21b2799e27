//! One scratch file: blocks are appended by several threads, and read at their places.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use super::space::{Scratch, TAG};
use crate::Result;
use crate::numeric::widths::index;

/// Where a block stands, and the length of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) offset: u64,
    pub(super) len: u32,
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
    /// [`crate::Error::File`] if the folder takes no file.
    pub(super) fn new(scratch: &Scratch) -> Result<Self> {
        let (number, file) = (scratch.next_file()?, scratch.open()?);
        Ok(Self { scratch: scratch.clone(), number, file, end: AtomicU64::new(0) })
    }

    /// Append blocks with one write. `blocks` has the contents, each followed by room for its tag, and `lens` the
    /// lengths of the contents.
    ///
    /// # Errors
    /// [`crate::Error::File`] if the disk or the limit is full.
    pub(super) fn append(&self, blocks: &mut [u8], lens: &[u32]) -> Result<Vec<Block>> {
        let bytes = blocks.len() as u64;
        let start = self.end.fetch_add(bytes, Ordering::Relaxed);
        self.scratch.take(bytes)?;
        let (mut rest, mut offset, mut made) = (&mut *blocks, start, Vec::with_capacity(lens.len()));
        for &len in lens {
            let (content, others) = rest.split_at_mut(len as usize);
            let (tag, others) = others.split_at_mut(TAG);
            tag.copy_from_slice(&self.scratch.seal(self.number, offset, content)?);
            made.push(Block { offset, len });
            offset += u64::from(len) + TAG as u64;
            rest = others;
        }
        write_all_at(&self.file, blocks, start).map_err(|e| self.scratch.failed("write scratch to", &e))?;
        Ok(made)
    }

    /// Read a block. The buffer holds its content afterwards.
    ///
    /// # Errors
    /// [`crate::Error::File`] if it cannot be read, or is not what was written.
    pub(super) fn read(&self, block: Block, content: &mut Vec<u8>) -> Result<()> {
        let len = index(block.len.into());
        content.clear();
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
        self.scratch.unseal(self.number, block.offset, content, tag)
    }

    /// The file itself, to damage it.
    #[cfg(test)]
    pub(super) fn file(&self) -> &File {
        &self.file
    }
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
