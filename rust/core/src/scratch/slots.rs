//! Values that are read again and again, of which a part changes each time: it is written in the place of the old one. So
//! a file does not grow, and the system need not find new pages for it.

use super::file::{Block, ScratchFile};
use super::space::Scratch;
use crate::Result;

/// Two files, in which several threads read and write values of their own.
#[derive(Debug)]
pub(crate) struct Slots {
    fixed: ScratchFile,
    changing: ScratchFile,
}

/// Where the parts of a value stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    fixed: Block,
    /// None before it is written for the first time.
    changing: Option<Block>,
}

impl Slots {
    /// # Errors
    /// [`crate::Error::File`] if the folder takes no file.
    pub(crate) fn new(scratch: &Scratch) -> Result<Self> {
        Ok(Self { fixed: ScratchFile::new(scratch)?, changing: ScratchFile::new(scratch)? })
    }

    /// Write a new value, of which nothing has changed so far. The buffer is encrypted in place.
    ///
    /// # Errors
    /// [`crate::Error::File`] if the disk or the limit is full; [`crate::Error::Capacity`] for a part beyond 4 GiB.
    pub(crate) fn add(&self, fixed: &mut Vec<u8>) -> Result<Slot> {
        Ok(Slot { fixed: self.fixed.append_one(fixed)?, changing: None })
    }

    /// Write the part that seldom changes anew.
    ///
    /// # Errors
    /// As [`Slots::add`].
    pub(crate) fn write_fixed(&self, slot: &mut Slot, fixed: &mut Vec<u8>) -> Result<()> {
        slot.fixed = self.fixed.replace(slot.fixed, fixed)?;
        Ok(())
    }

    /// Write the part that changes.
    ///
    /// # Errors
    /// As [`Slots::add`].
    pub(crate) fn write_changing(&self, slot: &mut Slot, changing: &mut Vec<u8>) -> Result<()> {
        slot.changing = Some(match slot.changing {
            Some(before) => self.changing.replace(before, changing)?,
            None => self.changing.append_one(changing)?,
        });
        Ok(())
    }

    /// Read both parts into buffers. The answer is whether there is one that changed.
    ///
    /// # Errors
    /// [`crate::Error::File`] if a part cannot be read, or is not what was written last.
    pub(crate) fn read(&self, slot: &Slot, fixed: &mut Vec<u8>, changing: &mut Vec<u8>) -> Result<bool> {
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
    pub(crate) fn place(&self) -> u64 {
        self.fixed.offset
    }
}
