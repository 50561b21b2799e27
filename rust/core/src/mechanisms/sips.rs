//! DP-SIPS: weighted Gaussian repeated, released items leaving the users' sets between rounds.

use serde::{Deserialize, Serialize};

use super::{Calibration, Guarantee, Mechanism};
use crate::Result;
use crate::accounting::{L0Bound, Privacy};

/// DP-SIPS (Swanberg, Desfontaines and Haney, PoPETs 2023, Algorithm 3).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sips {
    /// Number of rounds I.
    pub rounds: u32,
    /// Budget of a round as a fraction of the next round's, r in (0, 1].
    pub ratio: f64,
}

impl Default for Sips {
    fn default() -> Self {
        Self { rounds: 3, ratio: 1.0 / 3.0 }
    }
}

impl Sips {
    pub(super) fn validate(&self) -> Result<()> {
        todo!()
    }
}

impl Mechanism for Sips {
    fn calibrate(&self, _privacy: Privacy, _bound: L0Bound) -> Result<Calibration> {
        todo!()
    }

    fn guarantee(&self) -> Guarantee {
        todo!()
    }
}
