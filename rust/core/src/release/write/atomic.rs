//! Atomic files: written to a temporary file in the same folder, flushed to disk, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use dpsel_exact::Result;

use super::refusal::{NO_FOLDER, failed, refused};

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
    // As for any new file, the umask takes away from this; a file that is replaced keeps its mode.
    let temporary = written(&target, mode_of(&target), write).map_err(|e| failed("write", path, &e))?;
    temporary.persist(&target).map_err(|e| failed("rename", path, &e.error))?;
    flush_folder(&target);
    Ok(())
}

/// Writes a temporary file, for its owner alone, and gives it the name `path`, unless something has it; true if it did.
/// Whoever finds the path finds a complete file.
pub(super) fn create(path: &Path, write: impl FnOnce(&mut Out<&File>) -> io::Result<()>) -> Result<bool> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    if !folder_of(path).is_dir() {
        return Err(refused(path, NO_FOLDER));
    }
    let temporary = written(path, 0o600, write).map_err(|e| failed("write", path, &e))?;
    match temporary.persist_noclobber(path) {
        Ok(_) => flush_folder(path),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(failed("rename", path, &error.error)),
    }
    Ok(true)
}

/// Where folders can be opened, a rename is flushed to disk too. Elsewhere the system offers no way to do so.
fn flush_folder(target: &Path) {
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
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

/// A complete temporary file in the folder of the target.
fn written(
    target: &Path,
    mode: u32,
    write: impl FnOnce(&mut Out<&File>) -> io::Result<()>,
) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dpsel-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    // The library's message names the temporary file, which the user never named.
    let temporary =
        builder.tempfile_in(folder_of(target)).map_err(|error| -> io::Error { error.kind().into() })?;
    fill(temporary.as_file(), write)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

#[cfg(unix)]
fn mode_of(target: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(target).map_or(0o666, |m| m.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode_of(_target: &Path) -> u32 {
    0o666
}

/// The folder of a path.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
