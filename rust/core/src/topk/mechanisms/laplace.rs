//! `LaplaceTopK`: discrete Laplace noise on every count, and the k largest noisy counts.
//!
//! Two theorems, whichever is better. With users of at most c items the noisy counts have sensitivity c: scale c / epsilon, and the
//! counts of the answer come at no further cost. Without, scale k / epsilon makes the ordered items alone epsilon-DP (Ding,
//! Wang, Zhang and Kifer 2019), but not their counts. Page: `docs/algorithms/laplace_top_k.md`.

use serde::{Deserialize, Serialize};

use super::gamma::noisy_pick;
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::Result;
use crate::mechanisms::Guarantee;
use crate::random::ReleaseKey;
use crate::rounding::div_down;
use crate::topk::counts::Counts;
use crate::topk::noisy::{laplace, largest_noisy};

/// Noisy counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaplaceTopK {}

impl TopKMechanism for LaplaceTopK {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        let sensitivity = parameters.bound.map_or(parameters.k, |bound| bound.get().min(parameters.k));
        let epsilon = div_down(parameters.pure_epsilon(), sensitivity.into());
        TopKCalibration::new(parameters.for_neighbours(epsilon), 1)
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
        parameters.bound.is_some_and(|bound| bound.get() <= parameters.k)
    }

    fn is_ordered(&self) -> bool {
        true
    }
}
