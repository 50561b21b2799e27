//! CountGaussian.

use serde::{Deserialize, Serialize};

use super::{Calibration, Guarantee, Mechanism};
use crate::Result;
use crate::accounting::{L0Bound, Privacy};

/// CountGaussian.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountGaussian {}

impl Mechanism for CountGaussian {
    fn calibrate(&self, _privacy: Privacy, _bound: L0Bound) -> Result<Calibration> {
        todo!()
    }

    fn guarantee(&self) -> Guarantee {
        todo!()
    }
}
