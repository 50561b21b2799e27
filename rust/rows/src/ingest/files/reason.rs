//! Error reasons without data. Messages of decoders may quote the input, so they are replaced here.

use std::io;
use std::path::Path;

use arrow_schema::ArrowError;
use dpsel_exact::{Error, Result};

use crate::runtime::panics::caught;

/// A file that cannot be read, with a reason that holds no data.
pub(super) fn unreadable(path: &Path, reason: impl Into<String>) -> Error {
    Error::File { action: "read", path: path.to_owned(), reason: reason.into() }
}

/// What is wrong with the bytes of a file, in words of this crate, on its way through a decoder.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Damaged(String);

impl Damaged {
    /// As an error of reading.
    pub(super) fn error(words: impl Into<String>) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Self(words.into()))
    }
}

/// The operating system's message, or the kind of an error that a decoder raised.
pub(super) fn io_reason(error: &io::Error) -> String {
    if let Some(Damaged(words)) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return words.clone();
    }
    match (error.raw_os_error(), error.kind()) {
        (Some(_), _) => error.to_string(),
        (None, io::ErrorKind::UnexpectedEof) => "the file ends too early; it may be truncated".into(),
        (None, kind @ (io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other)) => {
            format!("malformed compressed data ({kind})")
        }
        (None, kind) => kind.to_string(),
    }
}

/// As [`unreadable`], for an error of the operating system or a decompressor.
pub(super) fn io_failed(path: &Path, error: &io::Error) -> Error {
    own_error(error).unwrap_or_else(|| unreadable(path, io_reason(error)))
}

/// The error of this crate that a reader passed through a decoder.
fn own_error(error: &io::Error) -> Option<Error> {
    match error.get_ref()?.downcast_ref::<Error>()? {
        Error::MemoryLimit { limit, stage } => Some(Error::MemoryLimit { limit: *limit, stage }),
        Error::Interrupted => Some(Error::Interrupted),
        _ => Some(Error::Internal("a pipe could not be read")),
    }
}

/// As [`unreadable`], for an error of an Arrow decoder. Its message is replaced; the message of an I/O error is kept.
pub(super) fn arrow_failed(path: &Path, error: &ArrowError, otherwise: &str) -> Error {
    match error {
        ArrowError::IoError(_, inner) => io_failed(path, inner),
        ArrowError::ExternalError(inner) => match inner.downcast_ref::<io::Error>() {
            Some(inner) => io_failed(path, inner),
            None => unreadable(path, otherwise),
        },
        _ => unreadable(path, otherwise),
    }
}

/// Calls a decoder. A panic on a malformed file becomes an error.
pub(super) fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    guarded_as("the file is malformed and its decoder gave up", path, decode)
}

/// As [`guarded`], with other words for a panic.
pub(super) fn guarded_as<T>(reason: &str, path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(decode).unwrap_or_else(|| Err(unreadable(path, reason)))
}
