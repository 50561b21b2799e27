//! Scratch: data of a job on this machine's disk, while it does not fit into memory.
//!
//! Law 5 holds on disk as well. Each block is encrypted and authenticated with AES-256-GCM under a key that is drawn for
//! one job, stays in memory and is wiped. Files have no name, so the system frees them when the process ends, however
//! it ends. A block is bound to its file, its place in it and the time at which it was written. So a block that was
//! changed, moved, repeated, cut off or replaced by an older one is an error. What has to outlive the process is sealed
//! under a key of the caller's (`sealed_files`).

mod file;
mod sealed_files;
mod space;
mod spool;
#[cfg(test)]
mod tests;
mod value_store;

pub use sealed_files::{seal, tag, unseal};
pub use space::{Scratch, ScratchSpace};
pub use spool::{Spool, Stored, Writer};
pub use value_store::{StoredValue, ValueStore};
