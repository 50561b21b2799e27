//! Weights: how a user's unit of norm is spread over its items, in integers.

mod histogram;
#[cfg(test)]
mod tests;
mod tilted;

use serde::{Deserialize, Serialize};

pub use histogram::WeightHistogram;
pub use tilted::{FULL_FACTOR, TiltedHistogram};

/// One unit of weight is `2^FRACTION_BITS` integer units. With at most 2^32 users of one unit each a sum
/// stays below 2^62: it can not overflow.
pub const FRACTION_BITS: u32 = 30;
/// One unit of weight, in integer units.
pub const UNIT: u64 = 1 << FRACTION_BITS;

/// How much a user with k bounded items gives to each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// One whole unit to each item: L1 norm at most D0, L2 norm at most sqrt(D0).
    Count,
    /// floor(2^s / k): L1 norm at most 1.
    EqualL1,
    /// floor(2^s / sqrt(k)): L2 norm at most 1.
    EqualL2,
}

impl Weighting {
    /// The weight of each of `k >= 1` items, in integer units, rounded down.
    #[must_use]
    pub fn weight(self, k: u32) -> u64 {
        let k = u64::from(k.max(1));
        match self {
            Self::Count => UNIT,
            Self::EqualL1 => UNIT / k,
            Self::EqualL2 => ((UNIT * UNIT) / k).isqrt(),
        }
    }

    /// The weight of each of `k >= 1` items, rounded down to a multiple of `quantum >= 1`.
    #[must_use]
    pub fn weight_in_quanta(self, k: u32, quantum: u64) -> u64 {
        let weight = self.weight(k);
        weight - weight % quantum.max(1)
    }
}
