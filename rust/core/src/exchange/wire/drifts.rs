//! What users gave to their items so far, which a partition of users sends to itself in the next round.
//!
//! It has the drifts of the users whose caps bind, as integers of variable length: users in order of their digests, and
//! each user's kept items in order of theirs. So it does not depend on how rows of the partition came in.

use super::bytes::{CORRUPT, push_integer, take_integer};
use crate::Result;
use crate::weighting::Drift;

/// Drifts of one partition of users, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Drifts {
    packed: Vec<u8>,
}

impl Drifts {
    /// Append a drift.
    pub(crate) fn push(&mut self, drift: Drift) {
        push_integer(drift.into(), &mut self.packed);
    }

    /// The packed drifts.
    pub(crate) fn into_packed(self) -> Vec<u8> {
        self.packed
    }
}

/// Take a drift off the front.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if there is none.
pub(crate) fn take_drift(rest: &mut &[u8]) -> Result<Drift> {
    take_integer(rest)?.try_into().map_err(|_| CORRUPT)
}
