//! Where the bytes of a file come from. What lies on a disk is opened as often as it takes; a pipe is read once.
//!
//! A file is looked at first (its header, its first records) and read later. A pipe opened a second time has lost what
//! the first look took. So an [`Input`] that is not on a disk keeps what a look has read, and the reading starts with it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::pipe::Pipe;
use super::reason::io_failed;
use crate::Result;
use crate::runtime::Control;

/// The path that stands for the standard input.
const STANDARD_INPUT: &str = "-";
/// The standard input, as errors call it in place of a path.
pub const STANDARD_INPUT_NAME: &str = "standard input";

/// One file of a source.
#[derive(Debug)]
pub(super) struct Input {
    /// The path as errors show it.
    name: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Disk,
    Pipe(Pipe),
}

/// Bytes from the start of an input.
#[derive(Debug)]
pub(super) enum Bytewise {
    /// A file on a disk.
    Disk(File),
    /// Something that is read once.
    Pipe(Pipe),
}

impl Read for Bytewise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Disk(file) => file.read(buffer),
            Self::Pipe(pipe) => pipe.read(buffer),
        }
    }
}

/// Whether the path stands for the standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// Whether the path has to be read in one pass: pipes, devices, and names of open descriptors, which on some systems
/// share one position.
fn is_read_once(path: &Path, metadata: &fs::Metadata) -> bool {
    let descriptor = ["/dev/fd", "/dev/stdin", "/proc"].iter().any(|folder| path.starts_with(folder));
    descriptor || !metadata.is_file()
}

impl Input {
    /// Find out what the path names; nothing is read yet.
    ///
    /// # Errors
    /// [`crate::Error::File`] if there is no such file.
    pub(super) fn new(path: &Path, control: &Control) -> Result<Self> {
        if is_standard_input(path) {
            let place = Place::Pipe(Pipe::new(None, control));
            return Ok(Self { name: STANDARD_INPUT_NAME.into(), place });
        }
        let metadata = fs::metadata(path).map_err(|e| io_failed(path, &e))?;
        let place = if is_read_once(path, &metadata) {
            Place::Pipe(Pipe::new(Some(path.to_owned()), control))
        } else {
            Place::Disk
        };
        Ok(Self { name: path.to_owned(), place })
    }

    /// The path for errors.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    /// The path as the source of chunks.
    pub(super) fn source(&self) -> Arc<str> {
        self.name.display().to_string().into()
    }

    /// The file on its disk, opened once more; `None` for what is read once.
    ///
    /// # Errors
    /// [`crate::Error::File`].
    pub(super) fn on_disk(&self) -> Result<Option<File>> {
        match self.place {
            Place::Disk => File::open(&self.name).map(Some).map_err(|e| io_failed(&self.name, &e)),
            Place::Pipe(_) => Ok(None),
        }
    }

    /// Bytes on its disk; `None` if nobody knows before the end.
    ///
    /// # Errors
    /// [`crate::Error::File`].
    pub(super) fn size(&self) -> Result<Option<u64>> {
        let Place::Disk = self.place else { return Ok(None) };
        Ok(Some(fs::metadata(&self.name).map_err(|e| io_failed(&self.name, &e))?.len()))
    }

    /// Look at the start. What is read will be read again.
    ///
    /// # Errors
    /// [`crate::Error::File`].
    pub(super) fn look(&self) -> Result<Bytewise> {
        match &self.place {
            Place::Disk => File::open(&self.name).map(Bytewise::Disk).map_err(|e| io_failed(&self.name, &e)),
            Place::Pipe(pipe) => pipe.look().map(Bytewise::Pipe),
        }
    }

    /// Read from the start. No look and no other reading may follow.
    ///
    /// # Errors
    /// [`crate::Error::File`].
    pub(super) fn read(&self) -> Result<Bytewise> {
        match &self.place {
            Place::Disk => self.look(),
            Place::Pipe(pipe) => pipe.read_all().map(Bytewise::Pipe),
        }
    }

    /// All bytes, for formats that are read from their end.
    ///
    /// # Errors
    /// [`crate::Error::File`]; [`crate::Error::MemoryLimit`].
    pub(super) fn hold(&self, control: &Control) -> Result<Held> {
        let mut held = Held { bytes: Bytes::new(), charged: 0, control: control.clone() };
        let (mut reader, mut bytes) = (self.read()?, Vec::new());
        loop {
            let piece = (&mut reader).take(PIECE).read_to_end(&mut bytes);
            let piece = piece.map_err(|e| io_failed(&self.name, &e))? as u64;
            if piece == 0 {
                held.bytes = bytes.into();
                return Ok(held);
            }
            held.charged += piece;
            control.charge_memory(piece, "reading a pipe into memory")?;
        }
    }

    /// What tells one pipe from another, if the system says.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        match &self.place {
            Place::Disk => None,
            Place::Pipe(pipe) => pipe.identity(),
        }
    }
}

/// Bytes of a pipe between two looks at the memory limit.
const PIECE: u64 = 1 << 20;

/// All bytes of an input; the memory is given back with it.
#[derive(Debug)]
pub(super) struct Held {
    bytes: Bytes,
    charged: u64,
    control: Control,
}

impl Held {
    pub(super) fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.control.release_memory(self.charged);
    }
}
