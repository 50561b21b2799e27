//! Privacy parameters: checked once, when they are made.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The guarantee asked for. Neighbours: tables that differ by adding or removing one user.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Privacy {
    /// Pure differential privacy.
    PureDp {
        /// Bound on the log-likelihood ratio; finite and positive.
        epsilon: f64,
    },
    /// Approximate differential privacy.
    ApproxDp {
        /// Finite and positive.
        epsilon: f64,
        /// In (0, 1).
        delta: f64,
    },
    /// delta-approximate rho-zCDP (Bun and Steinke 2016).
    Zcdp {
        /// Finite and positive.
        rho: f64,
        /// In (0, 1).
        delta: f64,
    },
}

impl Privacy {
    /// Check the ranges.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming the parameter.
    pub fn validate(self) -> Result<Self> {
        match self {
            Self::PureDp { epsilon } => positive("epsilon", epsilon)?,
            Self::ApproxDp { epsilon, delta } => {
                positive("epsilon", epsilon)?;
                probability(delta)?;
            }
            Self::Zcdp { rho, delta } => {
                positive("rho", rho)?;
                probability(delta)?;
            }
        }
        Ok(self)
    }
}

fn positive(name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::parameter(name, "a finite number above 0", value, "choose it before you see the data"))
    }
}

fn probability(delta: f64) -> Result<()> {
    if delta > 0.0 && delta < 1.0 {
        Ok(())
    } else {
        Err(Error::parameter(
            "delta",
            "above 0 and below 1",
            delta,
            "choose it far below 1 / number of users",
        ))
    }
}

/// The most distinct items that one user may contribute, `max_items_per_user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct L0Bound(u32);

impl L0Bound {
    /// The largest bound.
    pub const MAX: u32 = 10_000_000;

    /// Check and wrap.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if it is 0 or above [`L0Bound::MAX`].
    pub fn new(items: u64) -> Result<Self> {
        match u32::try_from(items) {
            Ok(n) if (1..=Self::MAX).contains(&n) => Ok(Self(n)),
            _ => Err(Error::parameter(
                "max_items_per_user",
                "between 1 and 10,000,000",
                items,
                "users with more distinct items contribute a random choice of that many",
            )),
        }
    }

    /// The bound.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}
