//! The scratch space of one job: its folder, its key and its limit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit};
use dpsel_exact::random::system_bytes;
use dpsel_exact::{Error, Result, Size};
use zeroize::Zeroizing;

/// Bytes of the tag behind each encrypted block.
pub(super) const TAG: usize = 16;

const SEALING: Error = Error::Internal("a block of scratch cannot be encrypted");

/// Where a job may put what does not fit into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchSpace {
    /// The folder. Files in it have no name.
    pub folder: PathBuf,
    /// The most bytes that they may take at any time.
    pub limit: Option<u64>,
}

/// The scratch space of one job. Cloning shares it.
#[derive(Clone)]
pub struct Scratch(Arc<Shared>);

struct Shared {
    space: ScratchSpace,
    cipher: Aes256Gcm,
    numbers: AtomicU32,
    used: AtomicU64,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scratch(..)")
    }
}

impl Scratch {
    /// Draw the key of a job. No file is made yet.
    ///
    /// # Errors
    /// [`Error::Entropy`] if the system gives no random bytes.
    pub fn new(space: ScratchSpace) -> Result<Self> {
        let key: Zeroizing<[u8; 32]> = Zeroizing::new(system_bytes()?);
        let cipher = Aes256Gcm::new_from_slice(key.as_slice()).map_err(|_| SEALING)?;
        Ok(Self(Arc::new(Shared { space, cipher, numbers: AtomicU32::new(0), used: AtomicU64::new(0) })))
    }

    /// A number for a new file, or for a block that replaces another one. A job gives none twice.
    ///
    /// # Errors
    /// [`Error::Capacity`] after 2^32 - 1 numbers.
    pub(super) fn next_number(&self) -> Result<u32> {
        let number = self.0.numbers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
        number
            .map_err(|_| Error::Capacity { what: "files and new blocks of scratch", limit: u32::MAX.into() })
    }

    /// A file without a name.
    ///
    /// # Errors
    /// [`Error::File`] with the folder.
    pub(super) fn open(&self) -> Result<std::fs::File> {
        tempfile::tempfile_in(&self.0.space.folder).map_err(|e| self.failed("make a scratch file in", &e))
    }

    /// Count bytes that will be written.
    ///
    /// # Errors
    /// [`Error::File`] if they are more than the limit allows.
    pub(super) fn take(&self, bytes: u64) -> Result<()> {
        let used = self.0.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        match self.0.space.limit {
            Some(limit) if used > limit => Err(Error::File {
                action: "write scratch to",
                path: self.0.space.folder.clone(),
                reason: format!(
                    "the job needs more than the {} that scratch_limit allows; raise it, or raise memory_limit",
                    Size(limit)
                ),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Bytes of a file that is gone.
    pub(super) fn give_back(&self, bytes: u64) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes on the disk.
    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Encrypt a block in place for its place in a file; returns its tag. Blocks that are appended have the number of their
    /// file, and each block that replaces another one has a number of its own.
    ///
    /// # Contract
    /// No number is given twice. A file appends to each place once. So numbers and places together never repeat, and no
    /// nonce occurs twice under the key.
    pub(super) fn seal(&self, number: u32, offset: u64, block: &mut [u8]) -> Result<[u8; TAG]> {
        let tag = self.0.cipher.encrypt_inout_detached(&nonce(number, offset).into(), &[], block.into());
        tag.map(Into::into).map_err(|_| SEALING)
    }

    /// Decrypt a block in place.
    ///
    /// # Errors
    /// [`Error::File`] if it is not the block that was written to this place.
    pub(super) fn unseal(&self, number: u32, offset: u64, block: &mut [u8], tag: [u8; TAG]) -> Result<()> {
        let opened = self.0.cipher.decrypt_inout_detached(
            &nonce(number, offset).into(),
            &[],
            block.into(),
            &tag.into(),
        );
        opened.map_err(|_| self.damaged())
    }

    /// The error of a file operation in the folder.
    pub(super) fn failed(&self, action: &'static str, error: &std::io::Error) -> Error {
        let fix = "free space there, or name another folder with scratch=";
        Error::File { action, path: self.0.space.folder.clone(), reason: format!("{error}; {fix}") }
    }

    /// The error of a block that is not what was written.
    pub(super) fn damaged(&self) -> Error {
        Error::File {
            action: "read scratch from",
            path: self.0.space.folder.clone(),
            reason: "it is not what was written there, so nothing was released; check the disk".into(),
        }
    }
}

/// The nonce of a block: its number and its place.
fn nonce(number: u32, offset: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&number.to_le_bytes());
    nonce[4..].copy_from_slice(&offset.to_le_bytes());
    nonce
}
