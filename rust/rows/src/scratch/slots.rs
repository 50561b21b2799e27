//! Values that are read again and again, of which a part changes each time: it is written in the place of the old one. So
//! a file does not grow, and the system need not find new pages for it.

use dpsel_exact::Result;

use super::file::{ScratchFile, StoredBlock};
use super::space::Scratch;

/// Two files, in which several threads read and write values of their own.
#[derive(Debug)]
pub struct Slots {
    fixed: ScratchFile,
    changing: ScratchFile,
}

/// Where the parts of a value stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    fixed: StoredBlock,
    /// None before it is written for the first time.
    changing: Option<StoredBlock>,
}

impl Slots {
    /// # Errors
    /// [`dpsel_exact::Error::File`] if the folder takes no file.
    pub fn new(scratch: &Scratch) -> Result<Self> {
        Ok(Self { fixed: ScratchFile::new(scratch)?, changing: ScratchFile::new(scratch)? })
    }

    /// Write a new value, of which nothing has changed so far. The buffer is encrypted in place.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if the disk or the limit is full; [`dpsel_exact::Error::Capacity`] for a part beyond 4 GiB.
    pub fn add(&self, fixed: &mut Vec<u8>) -> Result<Slot> {
        Ok(Slot { fixed: self.fixed.append_one(fixed)?, changing: None })
    }

    /// Write the part that seldom changes anew.
    ///
    /// # Errors
    /// As [`Slots::add`].
    pub fn write_fixed(&self, slot: &mut Slot, fixed: &mut Vec<u8>) -> Result<()> {
        slot.fixed = self.fixed.replace(slot.fixed, fixed)?;
        Ok(())
    }

    /// Write the part that changes.
    ///
    /// # Errors
    /// As [`Slots::add`].
    pub fn write_changing(&self, slot: &mut Slot, changing: &mut Vec<u8>) -> Result<()> {
        slot.changing = Some(match slot.changing {
            Some(before) => self.changing.replace(before, changing)?,
            None => self.changing.append_one(changing)?,
        });
        Ok(())
    }

    /// Read both parts into buffers. The answer is whether there is one that changed.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if a part cannot be read, or is not what was written last.
    pub fn read(&self, slot: &Slot, fixed: &mut Vec<u8>, changing: &mut Vec<u8>) -> Result<bool> {
        self.fixed.read(slot.fixed, fixed)?;
        slot.changing.map_or(Ok(()), |block| self.changing.read(block, changing))?;
        Ok(slot.changing.is_some())
    }

    /// The files themselves, to damage them.
    #[cfg(test)]
    pub(super) fn files(&self) -> [&std::fs::File; 2] {
        [self.fixed.file(), self.changing.file()]
    }
}

impl Slot {
    /// Where the value stands, so that values can be read in the order of the disk.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.fixed.offset
    }
}
