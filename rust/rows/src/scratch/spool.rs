//! Labelled values in a scratch file: written in any order by several threads, then read by label.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use dpsel_exact::{Error, Result};

use super::file::{ScratchFile, StoredBlock, block_len};
use super::space::{Scratch, TAG};

/// Bytes that a writer collects before it writes them at once.
const WRITTEN: usize = 1 << 22;

/// A scratch file that is being written.
#[derive(Debug)]
pub struct Spool {
    file: ScratchFile,
    index: Mutex<Vec<(i32, StoredBlock)>>,
}

impl Spool {
    /// # Errors
    /// [`Error::File`] if the folder takes no file.
    pub fn new(scratch: &Scratch) -> Result<Self> {
        Ok(Self { file: ScratchFile::new(scratch)?, index: Mutex::new(Vec::new()) })
    }

    /// A writer for one thread, which writes when it has `most` bytes, or 4 MiB.
    pub fn writer(&self, most: usize) -> Writer<'_> {
        Writer {
            spool: self,
            most: most.min(WRITTEN),
            bytes: Vec::new(),
            lens: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// End writing. The values of a label come in the order in which they were written.
    pub fn stored(self) -> Stored {
        let mut index = self.index.into_inner().unwrap_or_else(PoisonError::into_inner);
        index.sort_unstable_by_key(|(label, block)| (*label, block.offset));
        Stored { file: self.file, index }
    }
}

/// Collects the values of one thread. They are written by [`Writer::flush`] at the latest.
#[derive(Debug)]
pub struct Writer<'a> {
    spool: &'a Spool,
    most: usize,
    bytes: Vec<u8>,
    lens: Vec<u32>,
    labels: Vec<i32>,
}

impl Writer<'_> {
    /// Add a value.
    ///
    /// # Errors
    /// [`Error::File`] if the disk or the limit is full; [`Error::Capacity`] for a value beyond 4 GiB.
    pub fn push(&mut self, label: i32, value: &[u8]) -> Result<()> {
        self.lens.push(block_len(value.len())?);
        self.labels.push(label);
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(&[0; TAG]);
        if self.bytes.len() >= self.most { self.flush() } else { Ok(()) }
    }

    /// Write the values so far.
    ///
    /// # Errors
    /// As [`Writer::push`].
    pub fn flush(&mut self) -> Result<()> {
        if self.lens.is_empty() {
            return Ok(());
        }
        let blocks = self.spool.file.append(&mut self.bytes, &self.lens)?;
        let mut index = self.spool.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.extend(self.labels.drain(..).zip(blocks));
        self.bytes.clear();
        self.lens.clear();
        Ok(())
    }
}

/// A scratch file that is complete.
#[derive(Debug)]
pub struct Stored {
    file: ScratchFile,
    /// Labels and blocks, in order of labels.
    index: Vec<(i32, StoredBlock)>,
}

impl Stored {
    /// The label of each value and its length, in order of labels.
    pub fn values(&self) -> impl ExactSizeIterator<Item = (i32, u64)> + '_ {
        self.index.iter().map(|(label, block)| (*label, block.len.into()))
    }

    /// Read the value at a position of [`Stored::values`]; the buffer holds it afterwards.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, or is not what was written.
    pub fn read(&self, at: usize, value: &mut Vec<u8>) -> Result<i32> {
        let (label, block) =
            *self.index.get(at).ok_or(Error::Internal("there is no such value in scratch"))?;
        self.file.read(block, value)?;
        Ok(label)
    }

    /// Do `work` with the values at these positions.
    ///
    /// # Errors
    /// As [`Stored::read`]; those of `work`.
    pub fn each(&self, at: Range<usize>, mut work: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut value = Vec::new();
        for at in at {
            self.read(at, &mut value)?;
            work(&value)?;
        }
        Ok(())
    }

    /// The file itself, to damage it.
    #[cfg(test)]
    pub(super) fn file(&self) -> &std::fs::File {
        self.file.file()
    }
}
