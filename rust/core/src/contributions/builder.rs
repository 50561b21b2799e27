//! Building contributions from many threads at once.

use super::{Contributions, ItemCode, KeyLayout, Payload};
use crate::Result;
use crate::control::Control;
use crate::ingest::ItemSchema;
use crate::random::Digest;

/// Consecutive rows of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserRun {
    /// Digest of the user's key.
    pub user: Digest,
    /// Number of rows.
    pub rows: u32,
}

/// Shared by the threads that read; each makes its own [`Worker`].
#[derive(Debug)]
pub struct ContributionsBuilder {}

impl ContributionsBuilder {
    /// An empty builder for item keys of one layout.
    pub fn new(layout: KeyLayout, control: &Control) -> Self {
        let _ = (layout, control);
        todo!()
    }

    /// A handle for one thread.
    pub fn worker(&self) -> Worker<'_> {
        todo!()
    }

    /// Group all rows by user, without duplicates.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn finish(self, schema: ItemSchema) -> Result<Contributions> {
        let _ = schema;
        todo!()
    }
}

/// One thread's access to a [`ContributionsBuilder`].
#[derive(Debug)]
pub struct Worker<'a> {
    #[allow(dead_code, reason = "interface first")]
    builder: &'a ContributionsBuilder,
}

impl Worker<'_> {
    /// Codes of the items with these digests, appended to `codes`; keys of new items are taken from `payload`,
    /// whose row i belongs to digest i.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn intern(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<ItemCode>,
    ) -> Result<()> {
        let _ = (digests, payload, codes);
        todo!()
    }

    /// Add rows: the runs cover `codes` in order (the sum of their `rows` is `codes.len()`). Runs of zero rows
    /// still make the user known.
    ///
    /// # Errors
    /// Capacity or memory limit.
    pub fn push(&mut self, runs: &[UserRun], codes: &[ItemCode]) -> Result<()> {
        let _ = (runs, codes);
        todo!()
    }
}
