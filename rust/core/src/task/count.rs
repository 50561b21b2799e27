//! Counts of users per item: exact, hence for public data only.

use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::RowOrder;
use dpsel_rows::ingest::{Columns, OpenSource, Source};
use dpsel_rows::runtime::{Control, PHASES};
use serde::{Deserialize, Serialize};

use super::engine::{AfterRounds, Engine, Plan};
use super::memory::MemoryEngine;
use super::select::PublicLists;

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
    /// [`dpsel_exact::Error::InvalidParameter`] or [`dpsel_exact::Error::Incompatible`] for columns that do not fit each other.
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
/// See [`dpsel_exact::Error`].
pub fn users_per_item(
    source: Source,
    request: &CountRequest,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Vec<(u32, u64)>> {
    users_per_item_on(&MemoryEngine { key, control }, source, request)
}

/// The same on any engine.
///
/// # Errors
/// See [`dpsel_exact::Error`].
pub(crate) fn users_per_item_on(
    engine: &dyn Engine,
    source: Source,
    request: &CountRequest,
) -> Result<Vec<(u32, u64)>> {
    let control = engine.control();
    control.plan(PHASES - 1, 0);
    let source = OpenSource::open(source, &request.columns, control)?;
    let plan = Plan {
        columns: &request.columns,
        order: &RowOrder::Any,
        lists: &PublicLists::default(),
        has_rounds: false,
        after: AfterRounds::Nothing,
        names: false,
        parts: None,
        later: &|_| 0,
    };
    engine.read(source, None, &plan)?.users_per_item()
}
