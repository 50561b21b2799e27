//! CountLaplace.

use serde::{Deserialize, Serialize};

use super::{Calibration, Guarantee, Mechanism};
use crate::Result;
use crate::accounting::{L0Bound, Privacy};

/// CountLaplace.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountLaplace {}

impl Mechanism for CountLaplace {
    fn calibrate(&self, _privacy: Privacy, _bound: L0Bound) -> Result<Calibration> {
        todo!()
    }

    fn guarantee(&self) -> Guarantee {
        todo!()
    }
}
