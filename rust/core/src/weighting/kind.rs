//! The weightings: how users spread their weight.

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::UNIT;
use dpsel_rows::contributions::Totals;
use serde::{Deserialize, Serialize};

use super::greedy::Greedy;
use super::mad::MadWeights;
use super::matching::{self, MatchingSlots};
use super::order;
use super::policy_l1::PolicyL1;
use super::policy_l2::PolicyL2;

/// More items than any table has: item codes have 32 bits.
pub const ALL_ITEMS: f64 = (1_u64 << 32) as f64;

/// How users spread their weight over their bounded items: all at once, or one user after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// Weight 1 to each item: L1 norm at most D0, L2 norm at most sqrt(D0).
    Count,
    /// floor(2^s / k): L1 norm at most 1.
    EqualL1,
    /// floor(2^s / sqrt(k)): L2 norm at most 1.
    EqualL2,
    /// Users in order raise their items below a cutoff at equal speed: L1 norm at most 1.
    PolicyL1(PolicyL1),
    /// Users in order move their items towards a cutoff: L2 norm at most 1 and a slack.
    PolicyL2(PolicyL2),
    /// Users in order fill their items one by one up to a cutoff, in their order of preference: L1 norm at most 1.
    Greedy(Greedy),
    /// Weight beyond a limit returns to its users and goes to their other items: L2 norm at most 1 and a slack.
    Mad(MadWeights),
    /// Users are assigned to slots of their items, as many as possible: L1 norm at most 1.
    Matching(MatchingSlots),
}

impl Weighting {
    /// The most that a user gives to each of `k >= 1` items that nobody else holds, in grid steps.
    ///
    /// Without a policy each of its `k` items gets this weight, rounded down.
    #[must_use]
    pub fn weight(self, k: u32) -> u64 {
        let k = u64::from(k.max(1));
        match self {
            Self::Count | Self::Greedy(_) | Self::Matching(_) => UNIT,
            Self::EqualL1 => UNIT / k,
            Self::EqualL2 | Self::PolicyL2(_) | Self::Mad(_) => ((UNIT * UNIT) / k).isqrt(),
            Self::PolicyL1(policy) => policy.novel_weight(k),
        }
    }

    /// Bytes that are taken while the weights are found, at most.
    #[must_use]
    pub(crate) fn bytes(self, totals: Totals) -> usize {
        let of_item = match self {
            Self::Count | Self::EqualL1 | Self::EqualL2 => return 0,
            Self::PolicyL1(_) => PolicyL1::ITEM_BYTES,
            Self::PolicyL2(_) => PolicyL2::ITEM_BYTES,
            Self::Greedy(_) => Greedy::ITEM_BYTES,
            Self::Mad(_) => MadWeights::ITEM_BYTES,
            Self::Matching(_) => return matching::bytes(totals),
        };
        order::bytes(totals.codes, totals.users, of_item)
    }

    /// The largest weight of an item; `u64::MAX` if there is no limit.
    #[must_use]
    pub fn cutoff(self) -> u64 {
        match self {
            Self::Count | Self::EqualL1 | Self::EqualL2 | Self::Mad(_) => u64::MAX,
            Self::PolicyL1(policy) => policy.cutoff,
            Self::PolicyL2(policy) => policy.cutoff,
            Self::Greedy(greedy) => greedy.cutoff,
            Self::Matching(matching) => u64::from(matching.most) * UNIT,
        }
    }

    /// Whether one user may move the weights of all items, because other users react to its weights.
    ///
    /// Users of [`Greedy`] and [`MatchingSlots`] react as well, but count as not reactive. The answer matters only for noisy
    /// rounds that publish weights, and no mechanism with a guarantee uses these two there.
    #[must_use]
    pub fn is_reactive(self) -> bool {
        match self {
            Self::Count | Self::EqualL1 | Self::EqualL2 | Self::Greedy(_) | Self::Matching(_) => false,
            Self::PolicyL1(_) | Self::PolicyL2(_) | Self::Mad(_) => true,
        }
    }

    /// Whether no user's weights depend on another user, so that the weights of parts of the users add up.
    #[must_use]
    pub fn adds_up(self) -> bool {
        match self {
            Self::Count | Self::EqualL1 | Self::EqualL2 => true,
            Self::PolicyL1(_) | Self::PolicyL2(_) | Self::Greedy(_) | Self::Mad(_) | Self::Matching(_) => {
                false
            }
        }
    }

    /// The most items whose weights one user of at most `bound` items can move.
    #[must_use]
    pub fn changed_items(self, bound: L0Bound) -> f64 {
        if self.is_reactive() { ALL_ITEMS } else { bound.get().into() }
    }

    /// The weight of each of `k >= 1` items, rounded down to a multiple of `quantum >= 1`.
    ///
    /// [`Self::PolicyL1`] distributes whole quanta and loses nothing to rounding. Its result is the average weight of
    /// the items.
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
            | Self::Mad(_)
            | Self::Matching(_) => weight - weight % quantum.max(1),
        }
    }
}
