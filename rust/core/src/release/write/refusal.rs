//! Errors about a path that cannot be written.

use std::io;
use std::path::Path;

use dpsel_exact::Error;

/// The reason if the folder of a path is missing.
pub(super) const NO_FOLDER: &str = "its folder does not exist; create it first";

/// The error for a path that this crate refuses.
pub(super) fn refused(path: &Path, reason: &str) -> Error {
    Error::File { action: "write", path: path.to_owned(), reason: reason.to_owned() }
}

/// The error for a path that the system refuses.
pub(super) fn failed(action: &'static str, path: &Path, error: &io::Error) -> Error {
    Error::File { action, path: path.to_owned(), reason: error.to_string() }
}
