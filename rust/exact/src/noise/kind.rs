//! The laws of noise.

use serde::{Deserialize, Serialize};

/// The law of the noise, in units of weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Noise {
    /// Normal with this standard deviation.
    Gaussian {
        /// Standard deviation.
        sigma: f64,
    },
    /// Laplace with this scale (mean absolute value).
    Laplace {
        /// Scale.
        scale: f64,
    },
}
