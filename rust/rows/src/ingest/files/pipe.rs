//! A pipe, a device or the standard input: read once, by a thread of its own.
//!
//! The thread may wait for bytes that never come. So the job waits for the thread in short steps and checks for an
//! interruption between them. The thread ends with its pipe, or when its receiver is dropped.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use dpsel_exact::{Error, Result};

use crate::runtime::Control;

/// Bytes of one piece. Only the last piece is shorter, so the first piece holds the magic bytes of any format.
const PIECE: u64 = 256 * 1024;
/// Most pieces that wait for the job.
const IN_FLIGHT: usize = 2;
/// How long the job waits between two checks for an interruption.
const TICK: Duration = Duration::from_millis(50);

const LOST: &str = "a pipe was to be read twice";

/// A handle to a pipe. Its clones share one position.
#[derive(Debug, Clone)]
pub(super) struct Pipe(Arc<Mutex<PipeState>>);

#[derive(Debug)]
struct PipeState {
    /// `None` is the standard input.
    path: Option<PathBuf>,
    control: Control,
    /// The bytes that peeks have read, and the position of the next one.
    kept: Vec<u8>,
    at: usize,
    /// Whether bytes that are read are kept.
    peeking: bool,
    pieces: Option<Receiver<io::Result<Vec<u8>>>>,
    piece: io::Cursor<Vec<u8>>,
    ended: bool,
}

impl Pipe {
    pub(super) fn new(path: Option<PathBuf>, control: &Control) -> Self {
        Self(Arc::new(Mutex::new(PipeState {
            path,
            control: control.clone(),
            kept: Vec::new(),
            at: 0,
            peeking: true,
            pieces: None,
            piece: io::Cursor::default(),
            ended: false,
        })))
    }

    /// Start again at the first byte, and keep the bytes that are read.
    ///
    /// # Errors
    /// [`Error::Internal`] after [`Self::read_all`].
    pub(super) fn peek(&self) -> Result<Self> {
        let mut state = self.state().ok_or(Error::Internal(LOST))?;
        if !state.peeking {
            return Err(Error::Internal(LOST));
        }
        state.at = 0;
        Ok(self.clone())
    }

    /// Start again at the first byte, for the last time.
    ///
    /// # Errors
    /// [`Error::Internal`] the second time.
    pub(super) fn read_all(&self) -> Result<Self> {
        let reader = self.peek()?;
        self.state().ok_or(Error::Internal(LOST))?.peeking = false;
        Ok(reader)
    }

    /// The device and the number of the pipe.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            use std::os::unix::fs::MetadataExt;
            let metadata = match &self.state()?.path {
                Some(path) => std::fs::metadata(path).ok()?,
                None => File::from(io::stdin().as_fd().try_clone_to_owned().ok()?).metadata().ok()?,
            };
            Some((metadata.dev(), metadata.ino()))
        }
        #[cfg(not(unix))]
        None
    }

    fn state(&self) -> Option<MutexGuard<'_, PipeState>> {
        self.0.lock().ok()
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state().ok_or_else(|| io::Error::other(Error::Internal(LOST)))?;
        match state.read_kept(buffer) {
            0 => state.read_on(buffer),
            bytes => Ok(bytes),
        }
    }
}

impl PipeState {
    /// Read the bytes that peeks have kept. Their memory is released after the last reading of them.
    fn read_kept(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.kept[self.at..];
        let bytes = rest.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&rest[..bytes]);
        self.at += bytes;
        if !self.peeking && self.at == self.kept.len() {
            self.control.release_memory(self.kept.len() as u64);
            (self.kept, self.at) = (Vec::new(), 0);
        }
        bytes
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.position() == self.piece.get_ref().len() as u64 {
            self.piece = io::Cursor::new(self.next_piece()?);
        }
        let bytes = self.piece.read(buffer)?;
        if self.peeking && bytes > 0 {
            self.kept.extend_from_slice(&buffer[..bytes]);
            self.at = self.kept.len();
            let charged = self.control.charge_memory(bytes as u64, "peeking for the types in a pipe");
            charged.map_err(io::Error::other)?;
        }
        Ok(bytes)
    }

    /// The next bytes; none at the end.
    fn next_piece(&mut self) -> io::Result<Vec<u8>> {
        if self.ended {
            return Ok(Vec::new());
        }
        if self.pieces.is_none() {
            self.pieces = Some(start(self.path.clone())?);
        }
        let pieces = self.pieces.as_ref().ok_or_else(|| io::Error::other(Error::Internal(LOST)))?;
        loop {
            self.control.check().map_err(io::Error::other)?;
            match pieces.recv_timeout(TICK) {
                Ok(piece) => {
                    let piece = piece?;
                    self.ended = (piece.len() as u64) < PIECE;
                    return Ok(piece);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Only a short piece marks the end. A thread that died is an error.
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other(Error::Internal("the thread of a pipe ended early")));
                }
            }
        }
    }
}

fn start(path: Option<PathBuf>) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (sender, pieces) = sync_channel(IN_FLIGHT);
    std::thread::Builder::new().name("dpsel-pipe".into()).spawn(move || pump(path, &sender))?;
    Ok(pieces)
}

/// Send all bytes, in pieces. The pipe is opened here, because opening may wait too.
fn pump(path: Option<PathBuf>, sender: &SyncSender<io::Result<Vec<u8>>>) {
    let opened = path.map_or_else(|| Ok(None), |path| File::open(path).map(Some));
    let mut file = match opened {
        Ok(file) => file,
        Err(error) => return drop(sender.send(Err(error))),
    };
    loop {
        let mut piece = Vec::new();
        let read = match &mut file {
            Some(file) => file.take(PIECE).read_to_end(&mut piece),
            None => io::stdin().take(PIECE).read_to_end(&mut piece),
        };
        let more = matches!(read, Ok(bytes) if bytes as u64 == PIECE);
        if sender.send(read.map(|_| piece)).is_err() || !more {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peek_has_read_is_read_again_and_only_once_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        let bytes: Vec<u8> = (0..700_000_u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &bytes).unwrap();
        let pipe = Pipe::new(Some(path), &Control::default());
        for looked in [0, 5, 300_000, 7] {
            let mut start = vec![0; looked];
            pipe.peek().unwrap().read_exact(&mut start).unwrap();
            assert_eq!(start, bytes[..looked]);
        }
        let mut all = Vec::new();
        pipe.read_all().unwrap().read_to_end(&mut all).unwrap();
        assert!(all == bytes);
        assert!(matches!(pipe.peek(), Err(Error::Internal(_))));
        assert!(matches!(pipe.read_all(), Err(Error::Internal(_))));
    }

    #[test]
    fn what_is_kept_counts_as_memory_until_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        std::fs::write(&path, vec![1; 3000]).unwrap();
        let control = Control::new(None, Some(2000));
        let pipe = Pipe::new(Some(path.clone()), &control);
        pipe.peek().unwrap().read_exact(&mut [0; 2000]).unwrap();
        assert!(pipe.peek().unwrap().read_exact(&mut [0; 2001]).is_err());
        let control = Control::new(None, Some(2000));
        let pipe = Pipe::new(Some(path), &control);
        pipe.peek().unwrap().read_exact(&mut [0; 1500]).unwrap();
        pipe.read_all().unwrap().read_to_end(&mut Vec::new()).unwrap();
        assert!(control.charge_memory(2000, "the test").is_ok());
    }
}
