//! What a noisy weight is compared with.

use serde::{Deserialize, Serialize};

use crate::numeric::UNIT;

/// An item is released iff its noisy weight is at least this many integer units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Threshold(i64);

impl Threshold {
    /// Wrap integer units.
    #[must_use]
    pub fn from_units(units: i64) -> Self {
        Self(units)
    }
    /// In integer units.
    #[must_use]
    pub fn units(self) -> i64 {
        self.0
    }
    /// In units of weight, for people.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0 as f64 / UNIT as f64
    }
}
