//! Weights: how a user's unit of norm is spread over its items, in integers.

mod greedy;
mod histogram;
mod mad;
mod order;
mod policy_l1;
mod policy_l2;
mod reweighted;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use greedy::Greedy;
pub use histogram::WeightHistogram;
pub use mad::Mad;
pub use policy_l1::PolicyL1;
pub use policy_l2::PolicyL2;
pub use reweighted::{FULL_IMPORTANCE, ReweightedHistogram};

use crate::accounting::L0Bound;
use crate::bounding::BoundedContributions;
pub use crate::numeric::{FRACTION_BITS, UNIT};
use crate::random::ReleaseKey;
use crate::runtime::Control;
use crate::{Error, Result};

/// More items than a table can have: their codes have 32 bits.
pub const ALL_ITEMS: f64 = (1_u64 << 32) as f64;

/// How users spread their weight over their bounded items: at once, or one user after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// One whole unit to each item: L1 norm at most D0, L2 norm at most sqrt(D0).
    Count,
    /// floor(2^s / k): L1 norm at most 1.
    EqualL1,
    /// floor(2^s / sqrt(k)): L2 norm at most 1.
    EqualL2,
    /// Users in order raise their items below a cutoff at equal speed: L1 norm at most 1.
    PolicyL1(PolicyL1),
    /// Users in order move their items towards a cutoff: L2 norm at most 1 and a slack.
    PolicyL2(PolicyL2),
    /// Users in order fill their items one by one up to a cutoff, in the order in which they stand: L1 norm at most 1.
    Greedy(Greedy),
    /// What items have beyond a limit returns to users and goes to their items: L2 norm at most 1 and a slack.
    Mad(Mad),
}

impl Weighting {
    /// The most that a user gives to each of `k >= 1` items that nobody else holds, in integer units.
    ///
    /// Without a policy that is the weight of each of its `k` items, rounded down.
    #[must_use]
    pub fn weight(self, k: u32) -> u64 {
        let k = u64::from(k.max(1));
        match self {
            Self::Count | Self::Greedy(_) => UNIT,
            Self::EqualL1 => UNIT / k,
            Self::EqualL2 | Self::PolicyL2(_) | Self::Mad(_) => ((UNIT * UNIT) / k).isqrt(),
            Self::PolicyL1(policy) => policy.novel_weight(k),
        }
    }

    /// No item's weight exceeds this.
    #[must_use]
    pub fn cutoff(self) -> u64 {
        match self {
            Self::Count | Self::EqualL1 | Self::EqualL2 | Self::Mad(_) => u64::MAX,
            Self::PolicyL1(policy) => policy.cutoff,
            Self::PolicyL2(policy) => policy.cutoff,
            Self::Greedy(greedy) => greedy.cutoff,
        }
    }

    /// Whether one user may move the weights of all items, because others react to what it gave.
    ///
    /// So it is with [`Greedy`] too, but that has noise only where there is no guarantee which it could cost.
    #[must_use]
    pub fn is_reactive(self) -> bool {
        match self {
            Self::Count | Self::EqualL1 | Self::EqualL2 | Self::Greedy(_) => false,
            Self::PolicyL1(_) | Self::PolicyL2(_) | Self::Mad(_) => true,
        }
    }

    /// Whether the weights of parts of the users add up to those of all: no user's weights depend on another user.
    #[must_use]
    pub fn adds_up(self) -> bool {
        match self {
            Self::Count | Self::EqualL1 | Self::EqualL2 => true,
            Self::PolicyL1(_) | Self::PolicyL2(_) | Self::Greedy(_) | Self::Mad(_) => false,
        }
    }

    /// The most items whose weights one user of at most `bound` items can move.
    #[must_use]
    pub fn changed_items(self, bound: L0Bound) -> f64 {
        if self.is_reactive() { ALL_ITEMS } else { bound.get().into() }
    }

    /// The weight of each of `k >= 1` items, rounded down to a multiple of `quantum >= 1`.
    ///
    /// A policy places whole quanta one by one, so that nothing is lost: that is what its items get on average.
    #[must_use]
    pub fn weight_in_quanta(self, k: u32, quantum: u64) -> u64 {
        let weight = self.weight(k);
        match self {
            Self::PolicyL1(_) => weight,
            Self::Count
            | Self::EqualL1
            | Self::EqualL2
            | Self::PolicyL2(_)
            | Self::Greedy(_)
            | Self::Mad(_) => weight - weight % quantum.max(1),
        }
    }
}

/// Set the histogram to the weights of one round, contributions in multiples of a quantum.
///
/// Only [`Mad`] takes `importances` of the items, one for each code, by which users reweigh their items.
///
/// # Contract
/// The weights are a function of the set of bounded contributions and the key: neither codes nor threads matter. They are
/// multiples of the quantum, but for weightings that move by real distances ([`PolicyL2`], [`Mad`]): with these the quantum is 1.
///
/// # Errors
/// Interruption, or more memory than allowed.
pub fn weigh_round(
    histogram: &mut WeightHistogram,
    contributions: &BoundedContributions,
    (weighting, quantum): (Weighting, u64),
    importances: Option<&[u16]>,
    key: &ReleaseKey,
    control: &Control,
) -> Result<()> {
    let visits = order::Visits { contributions, key, control };
    match weighting {
        Weighting::Count | Weighting::EqualL1 | Weighting::EqualL2 => {
            histogram.weigh_in_quanta(contributions, weighting, quantum, control)
        }
        Weighting::PolicyL1(policy) => policy.weigh(quantum, visits, histogram),
        Weighting::PolicyL2(policy) => policy.weigh(visits, histogram),
        Weighting::Mad(mad) => mad.weigh(visits, importances, histogram),
        Weighting::Greedy(greedy) => {
            if !UNIT.is_multiple_of(quantum) || !greedy.cutoff.is_multiple_of(quantum) {
                return Err(Error::Internal("a cutoff that is no multiple of the quantum"));
            }
            greedy.weigh(visits, histogram)
        }
    }
}
