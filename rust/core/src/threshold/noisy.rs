//! The rule of one noisy weight and one threshold.

use dpsel_exact::noise::{Noise, Threshold};
use serde::{Deserialize, Serialize};

/// Released iff weight + noise >= threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noisy {
    /// The noise added to each item's weight.
    pub noise: Noise,
    /// An item is released if its noisy weight is at least this.
    pub threshold: Threshold,
}
