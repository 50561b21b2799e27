//! What rounds and counts of a job are asked for, on any engine.

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{Columns, NGrams};
use serde::{Deserialize, Serialize};

use crate::rounds::Calibration;

/// The parameters of a job, without the key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The columns of users and items.
    pub columns: Columns,
    /// The most items of one user, if users are bounded.
    pub bound: Option<L0Bound>,
    /// The rounds; none where users are only counted.
    pub calibration: Calibration,
    /// Whether decisions hold noisy weights.
    pub with_weights: bool,
    /// How weights are lowered before they are decided: the least number of users of a released item.
    pub min_users: u32,
}

impl JobSpec {
    /// A job that counts users, without rounds.
    #[must_use]
    pub fn counting(columns: Columns, bound: Option<L0Bound>) -> Self {
        Self::of(columns, bound, Calibration::of(vec![]))
    }

    /// A job whose rounds publish items alone.
    #[must_use]
    pub(crate) fn of(columns: Columns, bound: Option<L0Bound>, calibration: Calibration) -> Self {
        Self { columns, bound, calibration, with_weights: false, min_users: 1 }
    }

    /// Whether all items above released ones are released, too. In rounds of scores these may have no noisy weight to be shown.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.columns.levels.is_some() || self.calibration.descent && !self.with_weights
    }

    /// The n-grams that are items, if those inside one stand above it.
    #[must_use]
    pub fn lines_of_ngrams(&self) -> Option<NGrams> {
        self.columns.ngrams.filter(|_| self.calibration.descent)
    }

    /// The most items of one user, where there are rounds.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no bound.
    pub fn kept(&self) -> Result<L0Bound> {
        self.bound.ok_or(Error::Internal("rounds without a bound"))
    }
}
