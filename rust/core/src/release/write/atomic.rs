//! Atomic files: written to a temporary file in the same folder, flushed to disk, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::refusal::{NO_FOLDER, failed, refused};
use crate::Result;

/// Writes a temporary file and renames it to `path`. The temporary file is removed on every error.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut Out<&File>) -> io::Result<()>) -> Result<()> {
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let file = File::options().write(true).open(path).map_err(|e| failed("write", path, &e))?;
        return fill(&file, write).map_err(|e| failed("write", path, &e));
    }
    // A link is followed, so that it stays a link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.is_dir() {
        return Err(refused(path, "it is a directory; name a file in it"));
    }
    if !folder_of(&target).is_dir() {
        return Err(refused(path, NO_FOLDER));
    }
    let temporary = temporary_file(&target).map_err(|e| failed("write", path, &e))?;
    fill(temporary.as_file(), write)
        .and_then(|()| temporary.as_file().sync_all())
        .map_err(|e| failed("write", path, &e))?;
    temporary.persist(&target).map_err(|e| failed("rename", path, &e.error))?;
    // Where folders can be opened, the rename is flushed to disk too. Elsewhere the system offers no way to do so.
    if let Ok(folder) = File::open(folder_of(&target)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A buffer over a writer that keeps its first error.
pub(super) type Out<W> = BufWriter<ErrorKeeper<W>>;

/// A writer that keeps its first error, because encoders replace it by a message.
pub(super) struct ErrorKeeper<W> {
    inner: W,
    error: Option<io::Error>,
}

impl<W: Write> ErrorKeeper<W> {
    fn keep<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.map_err(|error| {
            let same = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            self.error.get_or_insert(error);
            same
        })
    }
}

impl<W: Write> Write for ErrorKeeper<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.inner.write(bytes) {
            // Not a failure: the caller retries.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            outcome => self.keep(outcome),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.inner.flush();
        self.keep(outcome)
    }
}

/// Writes everything and flushes. The error is the writer's own, if it had one.
pub(super) fn fill<W: Write + Send>(
    inner: W,
    write: impl FnOnce(&mut Out<W>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, ErrorKeeper { inner, error: None });
    let written = write(&mut out).and_then(|()| out.flush());
    match (written, out.get_mut().error.take()) {
        (Err(_), Some(error)) => Err(error),
        (written, _) => written,
    }
}

/// A temporary file in the folder of the target.
fn temporary_file(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dpsel-").suffix(".tmp");
    #[cfg(unix)]
    {
        // As for any new file, the umask takes away from this; a file that is replaced keeps its mode.
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(target).map_or(0o666, |m| m.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    // The library's message names the temporary file, which the user never named.
    builder.tempfile_in(folder_of(target)).map_err(|error| error.kind().into())
}

/// The folder of a path.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
