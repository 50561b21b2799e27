//! Where the bytes of a file come from: a disk, or a pipe that can be read only once.
//!
//! The start of a file (its header, its first records) is read first, and all of it later. A pipe has lost its first
//! bytes by then. So an [`Input`] on a pipe keeps the bytes that a peek has read, and later reads start with them.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use dpsel_exact::Result;
use dpsel_exact::error::STANDARD_INPUT_NAME;

use super::pipe::Pipe;
use super::reason::io_failed;
use crate::runtime::Control;

/// The path that stands for the standard input.
const STANDARD_INPUT: &str = "-";

/// One file of a source.
#[derive(Debug)]
pub(super) struct Input {
    /// The path as errors show it.
    name: PathBuf,
    place: InputPlace,
}

#[derive(Debug)]
enum InputPlace {
    Disk,
    Pipe(Pipe),
    /// All bytes of what was a pipe.
    Memory(InMemory),
}

/// Bytes from the start of an input.
#[derive(Debug)]
pub(super) enum ByteReader {
    /// A file on a disk.
    Disk(File),
    /// A pipe or a device, which is read once.
    Pipe(Pipe),
    Memory(Cursor<Bytes>),
}

impl Read for ByteReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Disk(file) => file.read(buffer),
            Self::Pipe(pipe) => pipe.read(buffer),
            Self::Memory(bytes) => bytes.read(buffer),
        }
    }
}

/// Whether the path stands for the standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// Whether the path can be read only once. These are pipes, devices, and names of open descriptors, which share one
/// position on some systems.
fn is_read_once(path: &Path, metadata: &fs::Metadata) -> bool {
    let descriptor = ["/dev/fd", "/dev/stdin", "/proc"].iter().any(|folder| path.starts_with(folder));
    descriptor || !metadata.is_file()
}

impl Input {
    /// Find out whether the path names a file or a pipe. Nothing is read yet.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if there is no such file.
    pub(super) fn new(path: &Path, control: &Control) -> Result<Self> {
        if is_standard_input(path) {
            let place = InputPlace::Pipe(Pipe::new(None, control));
            return Ok(Self { name: STANDARD_INPUT_NAME.into(), place });
        }
        let metadata = fs::metadata(path).map_err(|e| io_failed(path, &e))?;
        let place = if is_read_once(path, &metadata) {
            InputPlace::Pipe(Pipe::new(Some(path.to_owned()), control))
        } else {
            InputPlace::Disk
        };
        Ok(Self { name: path.to_owned(), place })
    }

    /// The path for errors.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    /// The path as the name of chunks' source.
    pub(super) fn source(&self) -> Arc<str> {
        self.name.display().to_string().into()
    }

    /// The file, opened anew; `None` for a pipe.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`].
    pub(super) fn on_disk(&self) -> Result<Option<File>> {
        match self.place {
            InputPlace::Disk => File::open(&self.name).map(Some).map_err(|e| io_failed(&self.name, &e)),
            InputPlace::Pipe(_) | InputPlace::Memory(_) => Ok(None),
        }
    }

    /// Size of the file in bytes; `None` for a pipe.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`].
    pub(super) fn size(&self) -> Result<Option<u64>> {
        let InputPlace::Disk = self.place else { return Ok(None) };
        Ok(Some(fs::metadata(&self.name).map_err(|e| io_failed(&self.name, &e))?.len()))
    }

    /// Read from the start; later calls read the same bytes again.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`].
    pub(super) fn peek(&self) -> Result<ByteReader> {
        match &self.place {
            InputPlace::Disk => {
                File::open(&self.name).map(ByteReader::Disk).map_err(|e| io_failed(&self.name, &e))
            }
            InputPlace::Pipe(pipe) => pipe.peek().map(ByteReader::Pipe),
            InputPlace::Memory(held) => Ok(ByteReader::Memory(Cursor::new(held.bytes.clone()))),
        }
    }

    /// Read from the start for the last time.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`].
    pub(super) fn read(&self) -> Result<ByteReader> {
        match &self.place {
            InputPlace::Disk | InputPlace::Memory(_) => self.peek(),
            InputPlace::Pipe(pipe) => pipe.read_all().map(ByteReader::Pipe),
        }
    }

    fn read_into_memory(&self, control: &Control) -> Result<InMemory> {
        let mut input = InMemory { bytes: Bytes::new(), charged: 0, control: control.clone() };
        let (mut reader, mut bytes) = (self.read()?, Vec::new());
        loop {
            let piece = (&mut reader).take(PIECE).read_to_end(&mut bytes);
            let piece = piece.map_err(|e| io_failed(&self.name, &e))? as u64;
            if piece == 0 {
                input.bytes = bytes.into();
                return Ok(input);
            }
            input.charged += piece;
            control.charge_memory(piece, "reading a pipe into memory")?;
        }
    }

    /// The same input, with all bytes of a pipe in memory: for formats that are read from their end, and to read it twice.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`]; [`dpsel_exact::Error::MemoryLimit`].
    pub(super) fn held(self, control: &Control) -> Result<Self> {
        let InputPlace::Pipe(_) = self.place else { return Ok(self) };
        let place = InputPlace::Memory(self.read_into_memory(control)?);
        Ok(Self { name: self.name, place })
    }

    /// All bytes, if they are in memory.
    pub(super) fn in_memory(&self) -> Option<Bytes> {
        match &self.place {
            InputPlace::Disk | InputPlace::Pipe(_) => None,
            InputPlace::Memory(held) => Some(held.bytes.clone()),
        }
    }

    /// The identity of a pipe, if the system tells it.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        match &self.place {
            InputPlace::Disk | InputPlace::Memory(_) => None,
            InputPlace::Pipe(pipe) => pipe.identity(),
        }
    }
}

/// Bytes of a pipe that are read between two checks of the memory limit.
const PIECE: u64 = 1 << 20;

/// All bytes of an input. Dropping it releases the counted memory.
#[derive(Debug)]
struct InMemory {
    bytes: Bytes,
    charged: u64,
    control: Control,
}

impl Drop for InMemory {
    fn drop(&mut self) {
        self.control.release_memory(self.charged);
    }
}
