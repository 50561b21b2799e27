//! `Gamma`: noise on every count with probability proportional to e^-(epsilon max |z|), and the k largest noisy counts.
//!
//! Theorem: counts change by at most 1 each, so max |z| changes by at most 1 (the maximum-norm mechanism of Steinke and
//! Ullman 2017, on integers). The noisy counts come at no further cost. Page: `docs/algorithms/gamma.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::Guarantee;
use dpsel_exact::numeric::Interval;
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use serde::{Deserialize, Serialize};

use super::mechanism::divided;
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::top_k::draws::discrete_laplace::{Radius, largest_noisy, within};
use crate::top_k::ranking::{Counts, Place};

/// The maximum-norm mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gamma {}

impl TopKMechanism for Gamma {
    /// Whatever the neighbours, no count changes by more than the sensitivity.
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        let epsilon = divided(parameters.pure_epsilon(), parameters.sensitivity.into());
        TopKCalibration::new(epsilon, 1)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "epsilon-DP by noise of probability proportional to e^-(epsilon max |z|) on all counts",
            neighbours: neighbours.words(),
            source: "Steinke and Ullman 2017, on integers",
            proof: "docs/algorithms/gamma.md",
        }
    }

    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        calibration: &TopKCalibration,
        key: &ReleaseKey,
    ) -> Vec<Pick> {
        let radius = Radius { items: counts.items(), rate: calibration.rate }.draw(&mut Coins::new(
            key,
            Purpose::TopK,
            0,
        ));
        let noisy = largest_noisy(counts.counts, counts.digests, k, key, |bits| within(radius, bits));
        noisy.into_iter().map(|(position, noisy)| noisy_pick(position, noisy)).collect()
    }

    fn needs_every_count(&self) -> bool {
        true
    }

    fn has_free_counts(&self, _parameters: &Parameters) -> bool {
        true
    }

    fn log_answers(&self, _items: u64, _k: u64) -> Option<Interval> {
        None
    }

    fn is_ordered(&self) -> bool {
        true
    }
}

/// A listed item with its noisy count, which is cut off at the ends of `i64`.
pub(in crate::top_k) fn noisy_pick(position: usize, noisy: i128) -> Pick {
    let end = if noisy < 0 { i64::MIN } else { i64::MAX };
    // Otherwise: as promised above.
    Pick { place: Place::Listed(position), noisy: Some(i64::try_from(noisy).unwrap_or(end)) }
}
