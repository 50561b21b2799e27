//! Values that are read again and again, of which a part changes each time: it is written in the place of the old one. So
//! a file does not grow, and the system need not find new pages for it.

use dpsel_exact::Result;

use super::file::{ScratchFile, StoredBlock};
use super::space::Scratch;

/// Two files, in which several threads read and write values of their own.
#[derive(Debug)]
pub struct ValueStore {
    fixed: ScratchFile,
    changing: ScratchFile,
}

/// Where the parts of a value stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredValue {
    fixed: StoredBlock,
    /// None before it is written for the first time.
    changing: Option<StoredBlock>,
}

impl ValueStore {
    /// # Errors
    /// [`dpsel_exact::Error::File`] if the folder takes no file.
    pub fn new(scratch: &Scratch) -> Result<Self> {
        Ok(Self { fixed: ScratchFile::new(scratch)?, changing: ScratchFile::new(scratch)? })
    }

    /// Write a new value, of which nothing has changed so far. The buffer is encrypted in place.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if the disk or the limit is full; [`dpsel_exact::Error::Capacity`] for a part beyond 4 GiB.
    pub fn add(&self, fixed: &mut Vec<u8>) -> Result<StoredValue> {
        Ok(StoredValue { fixed: self.fixed.append_one(fixed)?, changing: None })
    }

    /// Write the part that seldom changes anew.
    ///
    /// # Errors
    /// As [`ValueStore::add`].
    pub fn write_fixed(&self, value: &mut StoredValue, fixed: &mut Vec<u8>) -> Result<()> {
        value.fixed = self.fixed.replace(value.fixed, fixed)?;
        Ok(())
    }

    /// Write the part that changes.
    ///
    /// # Errors
    /// As [`ValueStore::add`].
    pub fn write_changing(&self, value: &mut StoredValue, changing: &mut Vec<u8>) -> Result<()> {
        value.changing = Some(match value.changing {
            Some(before) => self.changing.replace(before, changing)?,
            None => self.changing.append_one(changing)?,
        });
        Ok(())
    }

    /// Read both parts into buffers. The answer is whether there is one that changed.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if a part cannot be read, or is not what was written last.
    pub fn read(&self, value: &StoredValue, fixed: &mut Vec<u8>, changing: &mut Vec<u8>) -> Result<bool> {
        self.fixed.read(value.fixed, fixed)?;
        value.changing.map_or(Ok(()), |block| self.changing.read(block, changing))?;
        Ok(value.changing.is_some())
    }

    /// The files themselves, to damage them.
    #[cfg(test)]
    pub(super) fn files(&self) -> [&std::fs::File; 2] {
        [self.fixed.file(), self.changing.file()]
    }
}

impl StoredValue {
    /// Where the value stands, so that values can be read in the order of the disk.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.fixed.offset
    }
}
