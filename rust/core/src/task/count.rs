//! Counts of users per item: exact, hence for public data only.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::contributions;
use crate::ingest::{Columns, Source};
use crate::random::ReleaseKey;
use crate::runtime::{Control, PHASES};

/// A call that counts the users of each item, apart from the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountRequest {
    /// Which columns hold users and items.
    pub columns: Columns,
}

impl CountRequest {
    /// Check every parameter.
    ///
    /// # Errors
    /// [`crate::Error::InvalidParameter`] or [`crate::Error::Incompatible`] for columns that do not fit each other.
    pub fn validate(self) -> Result<Self> {
        self.columns.validate()?;
        Ok(self)
    }
}

/// Counts how many items have how many users, as (users, items) in ascending order.
///
/// The counts are exact, hence for public data only.
///
/// # Errors
/// See [`crate::Error`].
pub fn users_per_item(
    source: Source,
    request: &CountRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Vec<(u32, u64)>> {
    control.plan(PHASES - 1, 0);
    Ok(contributions::read(source, &request.columns, None, key, control)?.users_per_item())
}
