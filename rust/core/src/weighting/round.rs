//! The weights of one round under any weighting.

use dpsel_exact::numeric::UNIT;
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use dpsel_rows::runtime::Control;

use super::histogram::WeightHistogram;
use super::kind::Weighting;
use super::matching::{FilledSlots, MatchingSlots};
use super::order::Visits;
use crate::bounding::BoundedContributions;

/// What earlier rounds found out about the items, one entry for each code.
#[derive(Debug, Default)]
pub struct Guidance<'a> {
    /// The importances by which users of [`Weighting::Mad`] reweigh their items.
    pub importances: Option<&'a [u16]>,
    /// The ranking of the items: [`Weighting::Matching`] offers slots of items of larger numbers first. It is gone as
    /// soon as they are in order.
    pub ranking: Option<Vec<i64>>,
}

/// Set the histogram to the weights of one round, contributions in multiples of a quantum.
///
/// # Contract
/// The weights are a function of the set of bounded contributions, the key and the guidance: neither codes nor threads matter. They
/// are multiples of the quantum. [`Weighting::PolicyL2`] and [`Weighting::Mad`], which move weights by real distances,
/// have the quantum 1.
///
/// # Errors
/// Interruption, or more memory than allowed.
pub fn weigh_round(
    histogram: &mut WeightHistogram,
    contributions: &BoundedContributions,
    (weighting, quantum): (Weighting, u64),
    guidance: Guidance<'_>,
    key: &ReleaseKey,
    control: &Control,
) -> Result<()> {
    let visits = Visits { contributions, key, control };
    match weighting {
        Weighting::Count | Weighting::EqualL1 | Weighting::EqualL2 => {
            histogram.weigh(contributions, |k| weighting.weight_in_quanta(k, quantum), control)
        }
        Weighting::PolicyL1(policy) => policy.weigh(quantum, visits, histogram),
        Weighting::PolicyL2(policy) => policy.weigh(visits, histogram),
        Weighting::Mad(mad) => mad.weigh(visits, guidance.importances, histogram),
        Weighting::Matching(matching) => matching.weigh(visits, guidance.ranking, histogram),
        Weighting::Greedy(greedy) => {
            if !UNIT.is_multiple_of(quantum) || !greedy.cutoff.is_multiple_of(quantum) {
                return Err(Error::Internal("a cutoff that is no multiple of the quantum"));
            }
            greedy.weigh(visits, histogram)
        }
    }
}

/// What a matching of the bounded contributions fills: see [`MatchingSlots::filled_slots`].
///
/// # Contract
/// The sums are a function of the set of bounded contributions and the key.
///
/// # Errors
/// As [`weigh_round`].
pub fn filled_slots(
    contributions: &BoundedContributions,
    matching: MatchingSlots,
    key: &ReleaseKey,
    control: &Control,
) -> Result<FilledSlots> {
    matching.filled_slots(Visits { contributions, key, control })
}
