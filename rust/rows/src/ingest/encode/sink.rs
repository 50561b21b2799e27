//! The receiver of encoded rows.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;

use super::own_codes::OwnCodes;
use crate::ingest::items::{Code, ItemCode, Payload, UserCode};

/// How long the codes that a sink gave are good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// Codes of earlier steps are those of this one.
    Kept,
    /// Codes of earlier steps are void; those of this step will be kept.
    Void,
    /// Each step has codes of its own, and a key may have several.
    OfStep,
}

/// Takes encoded rows: gives codes to keys and stores runs of codes. `contributions` implements it, and so do tests.
pub trait Sink {
    /// Append the codes of the users or items with these digests to `codes`. Keys of new items are taken from
    /// `payload`, whose row i belongs to digest i.
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()>;

    /// The integers that are their own codes, and so are never interned; `None` where all keys are interned. `integers`
    /// are those of the step: the first ones of a job show whether it pays.
    ///
    /// # Errors
    /// Another thread failed.
    fn own_codes<C: Code>(&mut self, integers: &[u64]) -> Result<Option<OwnCodes>> {
        let _ = integers;
        Ok(None)
    }

    /// Begin a step: some keys will be interned, then their rows pushed.
    fn begin(&mut self) -> Result<Codes> {
        Ok(Codes::Kept)
    }

    /// End a step.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }

    /// Add rows: `lens[i]` consecutive codes of `items` belong to `users[i]`. Without `lens` each user has one code.
    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()>;
}
