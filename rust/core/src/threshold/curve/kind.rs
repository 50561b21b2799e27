//! Release curves by their parameters.

use dpsel_exact::Error;
use dpsel_exact::numeric::UNIT;
use serde::{Deserialize, Serialize};

/// A curve by its parameters, from which its table follows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurveSpec {
    /// The constraint that it satisfies.
    pub curve: CurveKind,
    /// The grid steps from one entry of the table to the next. Unless the curve is continuous, contributions are
    /// rounded down to multiples of it.
    pub quantum: u64,
    /// The least weight, in grid steps, at which a release is at least as likely as not. For people.
    pub half: u64,
}

/// Which privacy a curve has for one unit of sensitivity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CurveKind {
    /// A change by a is (epsilon a, delta a)-DP: for weights of L1 norm at most 1.
    L1 {
        /// For a change by one unit.
        epsilon: f64,
        /// For a change by one unit.
        delta: f64,
    },
    /// Adding one unit is (adding, delta)-DP, and removing one is (removing, delta)-DP: for weights in whole units of which
    /// one user changes one, by one unit.
    OneUnit {
        /// The law with the unit is at most e to this times the law without it, plus delta.
        adding: f64,
        /// The law without the unit is at most e to this times the law with it, plus delta.
        removing: f64,
        /// For either.
        delta: f64,
    },
    /// A change by a is (delta a^2)-approximately (alpha, divergence a^2)-Renyi DP: for weights of L2 norm at most 1.
    L2 {
        /// The order of the divergence.
        alpha: f64,
        /// For a change by one unit.
        divergence: f64,
        /// For a change by one unit.
        delta: f64,
    },
    /// As the L2 curve, for weights that are not multiples of a quantum, of an L2 norm of at most `norm` grid steps. A
    /// change by a times the norm costs as much as a change by a in the L2 curve.
    L2Continuous {
        /// The order of the divergence.
        alpha: f64,
        /// For a change by the norm.
        divergence: f64,
        /// For a change by the norm.
        delta: f64,
        /// The largest change, in grid steps.
        norm: u64,
    },
    /// As the L2 curve, at any approximations and divergences that convert to (epsilon, delta). Each pair of
    /// probabilities may have its own. For the only round of a mechanism.
    L2Region {
        /// The order of the divergence.
        alpha: f64,
        /// The epsilon at which divergences are converted.
        epsilon: f64,
        /// For a change by one unit.
        delta: f64,
    },
    /// As the continuous L2 curve, at any approximations and divergences that convert to (epsilon, delta).
    L2ContinuousRegion {
        /// The order of the divergence.
        alpha: f64,
        /// The epsilon at which divergences are converted.
        epsilon: f64,
        /// For a change by the norm.
        delta: f64,
        /// The largest change, in grid steps.
        norm: u64,
    },
}

impl CurveKind {
    /// The largest change, in grid steps.
    #[must_use]
    pub fn norm(&self) -> u64 {
        match self {
            Self::L1 { .. } | Self::OneUnit { .. } | Self::L2 { .. } | Self::L2Region { .. } => UNIT,
            Self::L2Continuous { norm, .. } | Self::L2ContinuousRegion { norm, .. } => *norm,
        }
    }

    /// Whether weights need not be multiples of a quantum.
    #[must_use]
    pub fn is_continuous(&self) -> bool {
        match self {
            Self::L1 { .. } | Self::OneUnit { .. } | Self::L2 { .. } | Self::L2Region { .. } => false,
            Self::L2Continuous { .. } | Self::L2ContinuousRegion { .. } => true,
        }
    }
}

impl CurveSpec {
    /// Contributions are rounded down to a multiple of this number of grid steps.
    #[must_use]
    pub fn contribution_quantum(&self) -> u64 {
        if self.curve.is_continuous() { 1 } else { self.quantum.max(1) }
    }
}

/// The error for parameters out of range.
pub(super) fn out_of_range() -> Error {
    Error::Calibration {
        what: "a release curve with these parameters".into(),
        fix: "raise epsilon or delta, or lower max_items_per_user",
    }
}
