//! The threshold of noisy weights.

use serde::{Deserialize, Serialize};

use crate::numeric::UNIT;

/// An item is released iff its noisy weight is at least this number of grid steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Threshold(i64);

impl Threshold {
    /// The threshold of this number of grid steps.
    #[must_use]
    pub fn from_steps(steps: i64) -> Self {
        Self(steps)
    }
    /// In grid steps.
    #[must_use]
    pub fn steps(self) -> i64 {
        self.0
    }
    /// In units of weight, for people.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0 as f64 / UNIT as f64
    }
}
