//! The weights of the items in a round of either kind: equal for each user, or reweighted by importance.

use std::ops::Range;

use super::calibration::{Calibration, Round};
use crate::bounding::BoundedContributions;
use crate::random::ReleaseKey;
use crate::runtime::Control;
use crate::weighting::{Guidance, ReweightedHistogram, WeightHistogram, weigh_round};
use crate::{Error, Result};

/// Sums of the weights of each item code. The memory is used again in every round.
#[derive(Debug)]
pub(super) enum Histogram {
    /// The weighting of the round says how users spread their weight.
    Weighted(WeightHistogram),
    /// Scored rounds: users spread their weight by importance, with a cap for each user.
    Reweighted(ReweightedHistogram),
}

impl Histogram {
    /// All weights zero. In scored rounds each user's cap follows from the items that it has now.
    pub(super) fn new(calibration: &Calibration, contributions: &BoundedContributions) -> Self {
        match calibration.scoring() {
            Some((_, publish)) => {
                Self::Reweighted(ReweightedHistogram::new(contributions, |items| publish.cap(items)))
            }
            None => Self::Weighted(WeightHistogram::new(contributions.vocabulary().code_bound())),
        }
    }

    /// Set to the weights of one round. The guidance has importances if a round steers.
    ///
    /// # Errors
    /// Interruption; the limit of memory.
    pub(super) fn weigh(
        &mut self,
        round: &Round,
        contributions: &BoundedContributions,
        guidance: Guidance<'_>,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<()> {
        match self {
            Self::Weighted(histogram) => {
                let weighting = (round.weighting, round.rule.quantum());
                weigh_round(histogram, contributions, weighting, guidance, key, control)
            }
            Self::Reweighted(histogram) => {
                let importances =
                    guidance.importances.ok_or(Error::Internal("scored rounds need importances"))?;
                histogram.weigh(contributions, importances, control)
            }
        }
    }

    /// Copy the weights of a range of codes to `weights`.
    pub(super) fn read(&self, codes: Range<usize>, weights: &mut [u64]) {
        match self {
            Self::Weighted(histogram) => copy(histogram.weights(codes), weights),
            Self::Reweighted(histogram) => copy(histogram.weights(codes), weights),
        }
    }
}

fn copy(found: impl Iterator<Item = u64>, weights: &mut [u64]) {
    weights.iter_mut().zip(found).for_each(|(weight, found)| *weight = found);
}
