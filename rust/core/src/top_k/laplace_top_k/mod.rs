//! `LaplaceTopK`: discrete Laplace noise on every count, and the k largest noisy counts.
//!
//! Two theorems, whichever is better. With users of at most c items the noisy counts have sensitivity c: scale c /
//! epsilon, and the counts of the answer come at no further cost. Without, scale k / epsilon makes the ordered items
//! alone epsilon-DP (Ding, Wang, Zhang and Kifer 2019), but not their counts. Page: `docs/algorithms/laplace_top_k.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::Guarantee;
use dpsel_exact::numeric::{Interval, at_least, div_down};
use dpsel_exact::random::ReleaseKey;
use serde::{Deserialize, Serialize};

use super::gamma::noisy_pick;
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::top_k::draws::discrete_laplace::{laplace, largest_noisy};
use crate::top_k::ranking::Counts;

/// Noisy counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaplaceTopK {}

impl TopKMechanism for LaplaceTopK {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        // Otherwise: nothing bounds a user, so that the picked ones alone do.
        let moved = of_all_counts(parameters).unwrap_or(u64::MAX).min(of_the_picked(parameters));
        TopKCalibration::new(div_down(parameters.pure_epsilon(), at_least(moved)), 1)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "epsilon-DP by discrete Laplace noise of scale min(k, items per user) / epsilon on all counts",
            neighbours: neighbours.words(),
            source: "Ghosh, Roughgarden and Sundararajan 2009; Ding, Wang, Zhang and Kifer 2019",
            proof: "docs/algorithms/laplace_top_k.md",
        }
    }

    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        calibration: &TopKCalibration,
        key: &ReleaseKey,
    ) -> Vec<Pick> {
        let noise =
            largest_noisy(counts.counts, counts.digests, k, key, |bits| laplace(calibration.rate, bits));
        noise.into_iter().map(|(position, noisy)| noisy_pick(position, noisy)).collect()
    }

    fn needs_every_count(&self) -> bool {
        true
    }

    /// Only where the noise covers all counts.
    fn has_free_counts(&self, parameters: &Parameters) -> bool {
        of_all_counts(parameters).is_some_and(|moved| moved <= of_the_picked(parameters))
    }

    fn log_answers(&self, _items: u64, _k: u64) -> Option<Interval> {
        None
    }

    fn is_ordered(&self) -> bool {
        true
    }
}

/// By how much one user changes all counts together, if users are bounded.
fn of_all_counts(parameters: &Parameters) -> Option<u64> {
    Some(parameters.changed_counts()?.saturating_mul(parameters.sensitivity.into()))
}

/// By how much the noise of the picked items has to move in all so that the same ones are picked.
fn of_the_picked(parameters: &Parameters) -> u64 {
    parameters.span().saturating_mul(parameters.k.into())
}
