//! WeightedGaussian.

use serde::{Deserialize, Serialize};

use super::{Calibration, Guarantee, Mechanism};
use crate::Result;
use crate::accounting::{L0Bound, Privacy};

/// WeightedGaussian.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedGaussian {}

impl Mechanism for WeightedGaussian {
    fn calibrate(&self, _privacy: Privacy, _bound: L0Bound) -> Result<Calibration> {
        todo!()
    }

    fn guarantee(&self) -> Guarantee {
        todo!()
    }
}
