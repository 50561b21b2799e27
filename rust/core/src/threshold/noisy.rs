//! The rule of one noisy weight and one threshold.

use serde::{Deserialize, Serialize};

use crate::noise::{Noise, Threshold};

/// Released iff weight + noise >= threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noisy {
    /// The noise added to each item's weight.
    pub noise: Noise,
    /// What the noisy weight has to reach.
    pub threshold: Threshold,
}
