//! Bounding: each user keeps at most D0 items, those with the smallest PRF(key, "bound", user, item).

use crate::Result;
use crate::accounting::L0Bound;
use crate::contributions::Contributions;
use crate::control::Control;
use crate::random::ReleaseKey;

/// Contributions of at most D0 items per user. Only this module makes them, and only they can be weighed.
#[derive(Debug)]
pub struct BoundedContributions {}

impl BoundedContributions {
    /// Bound every user.
    ///
    /// # Errors
    /// Interruption.
    pub fn new(
        contributions: Contributions,
        bound: L0Bound,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Self> {
        let _ = (contributions, bound, key, control);
        todo!()
    }
}
